/** Whether a host's name means the machine that the browser runs on. */
export function isHere(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d+){3}$/.test(name);
}
