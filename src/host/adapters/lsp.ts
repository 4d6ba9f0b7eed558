// Requests to a language server as tools. The connection is the caller's; one tool a method, and only methods that were named.

import { fileURLToPath } from "node:url";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import type { HostTool } from "../tool-types.ts";

/** The part of a JSON-RPC connection (`vscode-jsonrpc`, `vscode-languageserver-protocol`) that is used. */
export interface LspConnection {
  sendRequest(method: string, params: unknown): Promise<unknown>;
}

export interface LspOptions {
  /** Name of the server: tools are `lsp__server__textDocument_hover`. */
  readonly server: string;
  /** For example `textDocument/definition`. */
  readonly methods: readonly string[];
}

/** Methods that are known to change nothing. Any other one is an edit to guards, and destructive: a server may have methods of its own. */
const READING = new RegExp(
  `^(?:${[
    "textDocument/(?:hover|definition|declaration|typeDefinition|implementation|references|documentHighlight)",
    "textDocument/(?:documentSymbol|completion|signatureHelp|foldingRange|selectionRange|inlayHint|diagnostic)",
    "textDocument/(?:documentLink|codeLens|documentColor|linkedEditingRange|moniker|prepareRename)",
    "textDocument/(?:prepareCallHierarchy|prepareTypeHierarchy|semanticTokens/(?:full|range|full/delta))",
    "(?:callHierarchy|typeHierarchy)/[a-zA-Z]+",
    "workspace/(?:symbol|diagnostic)",
  ].join("|")})$`,
);

export function lspTools(connection: LspConnection, { server, methods }: LspOptions): HostTool[] {
  if (typeof server !== "string" || !/^[A-Za-z0-9_-]+$/.test(server))
    throw new TypeError(`server must be letters, digits, _ and -, got ${JSON.stringify(server)}`);
  return methods.map((method) => {
    if (!/^[$A-Za-z]+(?:\/[A-Za-z]+)*$/.test(method))
      throw new TypeError(`not the name of an LSP method: ${JSON.stringify(method)}`);
    const isChanging = !READING.test(method);
    return {
      name: `lsp__${server}__${method.replaceAll("/", "_")}`,
      description: `LSP request ${method}`,
      kind: isChanging ? "edit" : "read",
      destructive: isChanging,
      paths: (params: JsonObject) => filePaths(params),
      run: (params: JsonObject) => connection.sendRequest(method, params),
    };
  });
}

/** Paths of every `file:` URI in the parameters, however deep. */
function filePaths(value: Json): string[] {
  if (typeof value === "string") return value.startsWith("file:") ? pathOf(value) : [];
  if (Array.isArray(value)) return value.flatMap(filePaths);
  return isJsonObject(value) ? Object.values(value).flatMap(filePaths) : [];
}

function pathOf(uri: string): string[] {
  try {
    return [fileURLToPath(uri)];
  } catch {
    return [uri]; // A guard is rather shown what it cannot read than nothing.
  }
}
