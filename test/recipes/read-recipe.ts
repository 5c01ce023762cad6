import { readBlock } from "../docs/page.ts";

/** The code of a recipe, docs/recipes/NAME.md, block by block. */
export function readRecipe(name: string): string[] {
  const blocks = readBlock(`docs/recipes/${name}.md`, name.replaceAll("-", " "));
  return [...blocks.matchAll(/```(?:ts|sql)\n(.*?)```/gs)].map(([, code]) => code!);
}
