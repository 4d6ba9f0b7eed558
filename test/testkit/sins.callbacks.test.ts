import { testSins } from "./test-sins.ts";

testSins("claude", "callbacks");
