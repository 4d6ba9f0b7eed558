// Whether a function starts itself again and again. Pure.

import { type CommandNode, forEachChild, type SyntaxNode } from "unbash";

/** A function that starts itself in a pipeline or beside itself. */
export function callsItself(name: string, body: SyntaxNode): boolean {
  const calls = (node: SyntaxNode): boolean => {
    if (node.type === "Command") return node.name?.value === name;
    let isFound = false;
    forEachChild(node, (child) => {
      if (calls(child)) isFound = true;
    });
    return isFound;
  };
  const spreads = (node: SyntaxNode): boolean => {
    if (
      node.type === "Pipeline" &&
      node.commands.length > 1 &&
      (node.commands as readonly CommandNode[]).some(calls)
    )
      return true;
    if (node.type === "Statement" && node.background === true && calls(node)) return true;
    let isFound = false;
    forEachChild(node, (child) => {
      if (spreads(child)) isFound = true;
    });
    return isFound;
  };
  return spreads(body);
}
