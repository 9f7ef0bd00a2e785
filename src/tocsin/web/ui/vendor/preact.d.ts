// The part of htm and Preact that the dashboard uses, as `tsc` checks it.
export type Child = VNode | string | number | boolean | null | undefined | Child[];
export interface VNode { type: unknown; props: Record<string, unknown>; key: unknown }
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
export function h(type: unknown, props: object | null, ...children: Child[]): VNode;
export function render(node: Child, into: Element): void;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((old: T) => T)) => void];
export function useReducer<T, A>(reduce: (state: T, action: A) => T, initial: T): [T, (action: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, inputs?: readonly unknown[]): T;
export function useErrorBoundary(onError?: (error: unknown) => void): [unknown, () => void];
