// The part of marked that the dashboard uses, as `tsc` checks it.
export interface Token {
  type: string; raw: string; text?: string; tokens?: Token[]; depth?: number; lang?: string; href?: string; title?: string | null;
  ordered?: boolean; start?: number | ""; items?: Token[]; task?: boolean; checked?: boolean;
  header?: Token[]; rows?: Token[][]; align?: ("left" | "right" | "center" | null)[];
}
export const marked: { lexer(text: string): Token[] };
