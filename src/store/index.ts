// agent-bridle/store: a host's receipts in SQLite. The public list, nothing else.

export type { FailureMode, HookReceipt, HookRecord, HookType, ReceiptStore } from "../host/receipt.ts";
export type { HookFilters, ReceiptFilters } from "./filters.ts";
export { MIGRATIONS, MIGRATIONS_TABLE, type Migration } from "./migrations.ts";
export {
  openReceiptStore,
  type ReceiptStoreOptions,
  type SqliteReceiptStore,
} from "./open-receipt-store.ts";
export type { RowReading } from "./row-reading.ts";
