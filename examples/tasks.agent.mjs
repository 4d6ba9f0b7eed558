#!/usr/bin/env node
// agent-bridle testkit: a fake provider
// A claude for the tasks beside this file, so that they run offline and without a key. It asks the declared hooks as claude does and runs
// what they let through: it says something, and tries to remove a folder. Put a real agent in its place: leave --binary away.

import { fileURLToPath } from "node:url";
import { runFakeProvider } from "../dist/testkit/fake/main.mjs";

await runFakeProvider({
  provider: "claude",
  script: fileURLToPath(new URL("tasks.script.json", import.meta.url)),
});
