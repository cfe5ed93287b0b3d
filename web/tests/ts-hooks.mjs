import { readFile } from "node:fs/promises";
import ts from "typescript";

const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const text = await readFile(new URL(url), "utf8");
  const source = ts.transpileModule(text, { compilerOptions, fileName: url }).outputText;
  return { format: "module", shortCircuit: true, source };
}
