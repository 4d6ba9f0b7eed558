#!/usr/bin/env node
import { print, RESULT, serve } from "./claude-protocol.mjs";

serve({ onPrompt: () => print(RESULT) });
