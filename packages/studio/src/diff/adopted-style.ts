/**
 * `<adopted-style>`: a `<style>` that the page's policy does not mind, since its text is handed over as a constructed
 * sheet. The diff component makes these in place of `<style>` elements; see build/fit-diffs.ts.
 */
class AdoptedStyle extends HTMLElement {
  readonly #sheet = new CSSStyleSheet()
  #root: Document | ShadowRoot | undefined
  readonly #observer = new MutationObserver(() => this.#fill())

  connectedCallback(): void {
    this.hidden = true
    const root = this.getRootNode()
    if (!(root instanceof Document || root instanceof ShadowRoot)) return
    this.#fill()
    this.#root = root
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, this.#sheet]
    this.#observer.observe(this, { childList: true, characterData: true, subtree: true })
  }

  disconnectedCallback(): void {
    this.#observer.disconnect()
    const root = this.#root
    if (root !== undefined)
      root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== this.#sheet)
    this.#root = undefined
  }

  #fill(): void {
    this.#sheet.replaceSync(this.textContent ?? '')
  }
}

if (customElements.get('adopted-style') === undefined) customElements.define('adopted-style', AdoptedStyle)
