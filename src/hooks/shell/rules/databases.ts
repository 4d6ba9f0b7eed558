// SQL and its like that drops or empties, in the arguments or the input of a database's own client. Looks at words: it knows no schema.

import { optionsOf, type ShellCommand } from "../command.ts";
import { isOpen, showField } from "../fields.ts";
import { printedBy } from "../output.ts";
import type { Rule } from "./rule.ts";

const CLIENTS = new Set(
  "psql mysql mariadb sqlite3 sqlite duckdb clickhouse-client clickhouse sqlcmd mssql-cli sqlplus cockroach usql pgcli mycli litecli cqlsh bq snowsql trino presto turso".split(
    " ",
  ),
);

const DROPS =
  /\b(?:drop\s+(?!(?:constraint|default|not)\b)\w+|truncate\b|alter\s+table\s[^;]*\bdrop\b(?!\s+(?:constraint|default|not)\b))/i;
const WHOLE_TABLE = /\b(?:delete\s+from\s+[^;]+|update\s+[^;]+?\bset\b[^;]*)/gi;

/** What a text of SQL destroys; undefined when nothing is seen. */
export function describeSql(text: string): string | undefined {
  const bare = text
    .replaceAll(/\/\*[\s\S]*?\*\//g, " ")
    .replaceAll(/--[^\n]*/g, " ")
    .replaceAll(/'(?:[^']|'')*'/g, "''");
  if (DROPS.test(bare)) return "drops or empties what a database holds";
  for (const [statement] of bare.matchAll(WHOLE_TABLE))
    if (!/\bwhere\b/i.test(statement) || /\bwhere\s+(?:1\s*=\s*1|1|true)\s*$/i.test(statement.trim()))
      return "changes every row of a table";
  return undefined;
}

function inputOf({ input }: ShellCommand): string {
  return input.text ?? printedBy(input.from.at(-1)) ?? "";
}

const sql: Rule = (command) => {
  const words = command.args.filter((arg) => !isOpen(arg) || arg.length > 1).map(showField);
  for (const text of [...words, inputOf(command)]) {
    // `-e'DROP …'`: the letter is no part of it.
    const found = describeSql(text.replace(/^--[\w-]+=|^-[A-Za-z](?=.)/, ""));
    if (found !== undefined) return found;
  }
  return undefined;
};

const redis: Rule = (command) =>
  /\b(?:flushall|flushdb)\b/i.test(`${command.args.join(" ")} ${inputOf(command)}`)
    ? "empties a database"
    : undefined;

const mongo: Rule = (command) =>
  /\b(?:dropDatabase|drop|deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?\)/.test(
    `${command.args.join(" ")} ${inputOf(command)}`,
  )
    ? "drops or empties what a database holds"
    : undefined;

const task =
  (pattern: RegExp): Rule =>
  ({ args }) =>
    pattern.test(optionsOf(args).rest.join(" ")) ? "drops or empties a database" : undefined;

const DATABASE_TASK =
  /(?:^|\s)(?:db:(?:drop|reset|wipe|purge|setup)|db:schema:load|migrate:(?:fresh|reset|refresh)|ecto\.(?:drop|reset))\b/;
const framework = task(DATABASE_TASK);

export const DATABASES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries([...CLIENTS].map((name) => [name, sql])),
  "redis-cli": redis,
  "valkey-cli": redis,
  mongo,
  mongosh: mongo,
  dropdb: () => "drops a database",
  dropuser: () => "drops a user of a database",
  mysqladmin: task(/\bdrop\b/),
  rails: framework,
  rake: framework,
  mix: framework,
  sequelize: framework,
  prisma: ({ args }) =>
    /migrate reset|db push/.test(optionsOf(args).rest.join(" ")) &&
    (args.includes("reset") || args.includes("--force-reset") || args.includes("--accept-data-loss"))
      ? "drops or empties a database"
      : undefined,
  supabase: task(/^db reset\b/),
};

/** `python manage.py flush`, `php artisan migrate:fresh`, `bin/rails db:drop`. */
export function describeManagementTask(args: readonly string[]): string | undefined {
  const [script = "", ...rest] = optionsOf(args).rest;
  if (/manage\.py$/.test(script) && /^(?:flush|reset_db|sqlflush|drop_test_database)$/.test(rest[0] ?? ""))
    return "empties a database";
  return /(?:artisan|rails|rake|console)$/.test(script) && DATABASE_TASK.test(rest.join(" "))
    ? "drops or empties a database"
    : undefined;
}
