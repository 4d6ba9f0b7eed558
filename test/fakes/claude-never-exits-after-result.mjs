#!/usr/bin/env node
import { print, RESULT, serve } from "./claude-protocol.mjs";

setInterval(() => {}, 1_000_000);
serve({ onPrompt: () => print(RESULT) });
