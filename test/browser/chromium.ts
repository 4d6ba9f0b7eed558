// Chromium without a window, over its DevTools pipe: a profile of its own that goes away with it, ended by its pid. Without chromium it throws;
// what it would have shown must not count as shown.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { PNG } from "pngjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ANSWER_MS = 60_000;

export function findChromium(path = process.env.PATH ?? ""): string {
  for (const name of NAMES)
    for (const folder of path.split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // not here
      }
    }
  throw new Error(`no chromium on PATH (looked for ${NAMES.join(", ")}): apt-get install chromium`);
}

type Params = Record<string, unknown>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

export interface View {
  readonly width: number;
  readonly scheme: "light" | "dark";
}

export interface Browser {
  /** Addresses that were asked for since the page was opened, its own first. */
  readonly requests: string[];
  /** What the page complained of: policy, scripts. */
  readonly complaints: string[];
  open(address: string, view: View): Promise<void>;
  setView(view: View): Promise<void>;
  evaluate<T>(expression: string): Promise<T>;
  /** The whole page. */
  screenshot(): Promise<PNG>;
  press(key: "Tab" | "Enter" | "Space", modifiers?: { shift?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "bridle-chromium-"));
  const child = spawn(
    findChromium(),
    [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--hide-scrollbars",
      "--disable-background-networking",
      "--disable-component-update",
      `--user-data-dir=${profile}`,
      "--remote-debugging-pipe",
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: { ...process.env, HOME: profile } },
  );
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const close = async () => {
    child.kill("SIGKILL");
    await closed;
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    return { ...(await drive(child)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function drive(child: ChildProcess): Promise<Omit<Browser, "close">> {
  const requests: string[] = [];
  const complaints: string[] = [];
  const waiting = new Map<number, { resolve(result: Params): void; reject(error: Error): void }>();
  const listeners = new Map<string, () => void>();
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  child.once("error", fail);
  child.once("close", () => fail(new Error("chromium ended")));
  const input = child.stdio[3] as Writable;
  input.on("error", fail);
  let rest = "";
  (child.stdio[4] as Readable).setEncoding("utf8").on("data", (piece: string) => {
    const messages = (rest + piece).split("\0");
    rest = messages.pop() ?? "";
    for (const text of messages) take(JSON.parse(text) as Message);
  });
  const take = ({ id, method, params = {}, result = {}, error }: Message) => {
    if (id !== undefined) {
      const answer = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) answer?.resolve(result);
      else answer?.reject(new Error(error.message));
      return;
    }
    if (method === "Network.requestWillBeSent") requests.push((params.request as { url: string }).url);
    if (method === "Log.entryAdded") complaints.push((params.entry as { text: string }).text);
    if (method === "Runtime.exceptionThrown") complaints.push(JSON.stringify(params));
    if (method !== undefined) listeners.get(method)?.();
  };

  let last = 0;
  let sessionId: string | undefined;
  const send = (method: string, params: Params = {}): Promise<Params> =>
    new Promise((resolve, reject) => {
      last += 1;
      const id = last;
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error(`chromium did not answer ${method} within ${ANSWER_MS} ms`));
      }, ANSWER_MS);
      const settled = <T>(settle: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer);
          settle(value);
        };
      };
      waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      input.write(
        `${JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`,
      );
    });

  const { targetInfos } = await send("Target.getTargets");
  const page = (targetInfos as { type: string; targetId: string }[]).find(({ type }) => type === "page");
  const attached = await send("Target.attachToTarget", { targetId: page?.targetId, flatten: true });
  sessionId = attached.sessionId as string;
  for (const domain of ["Page", "Network", "Log", "Runtime"]) await send(`${domain}.enable`);

  const setView = async ({ width, scheme }: View) => {
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await send("Emulation.setDeviceMetricsOverride", {
      width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: false,
    });
  };
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  };
  return {
    requests,
    complaints,
    setView,
    evaluate,
    async open(address, view) {
      await setView(view);
      requests.length = 0;
      complaints.length = 0;
      const loaded = new Promise<void>((resolve) => listeners.set("Page.loadEventFired", resolve));
      await send("Page.navigate", { url: address });
      await loaded;
    },
    async screenshot() {
      const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
      return PNG.sync.read(Buffer.from(data as string, "base64"));
    },
    async press(key, { shift = false } = {}) {
      const code = { Tab: 9, Enter: 13, Space: 32 }[key];
      const event = {
        key: key === "Space" ? " " : key,
        code: key,
        windowsVirtualKeyCode: code,
        modifiers: shift ? 8 : 0,
        ...(key === "Enter" ? { text: "\r" } : key === "Space" ? { text: " " } : {}),
      };
      await send("Input.dispatchKeyEvent", { type: key === "Tab" ? "rawKeyDown" : "keyDown", ...event });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
  };
}
