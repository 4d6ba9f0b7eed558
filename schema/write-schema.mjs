// Writes schema/hooks-external.json from what validation is made of. Needs a build.

import { writeFileSync } from "node:fs";
import { settingsJsonSchema } from "../dist/declaration/json-schema.js";

const text = `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`;
writeFileSync(new URL("hooks-external.json", import.meta.url), text);
