import { testSins } from "./test-sins.ts";

testSins("codex");
