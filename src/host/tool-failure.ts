// Thrown by a tool that did run and says that it failed; what it returned is kept.

export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly result: unknown;

  constructor(message: string, result: unknown) {
    super(message);
    this.result = result;
  }
}
