#!/usr/bin/env node
// agent-bridle testkit: a fake provider
// Ready to be started by a launcher in any language: the variable BRIDLE_FAKE_SCRIPT names the script file.

import { runFakeProvider } from "./fake/main.mjs";

await runFakeProvider({ provider: "claude", script: process.env.BRIDLE_FAKE_SCRIPT });
