// `npm run test:faults`: what is left when programs are killed at every step, escape, or are hundreds.

import { defineConfig } from "vitest/config";
import config, { FAULT_SUITES } from "./vitest.config.ts";

export default defineConfig({ ...config, test: { ...config.test, include: FAULT_SUITES, exclude: [] } });
