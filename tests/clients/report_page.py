# SPDX-License-Identifier: Apache-2.0
"""What tests of the pages of ctxfs report look at."""

import html.parser
import json
import struct

from shard import build, entry

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"'><svg onload=document.title='owned'>",
    "{{data}}${alert(1)}`<!--",
    "\u202egnp.exe", "tab\there\nand line", "\u2028\u2029", "javascript:alert(1)",
]


def texts(page, selector: str) -> list[str]:
    return page.run(f"[...document.querySelectorAll({json.dumps(selector)})]"
                    ".map((one) => one.textContent)")


def table(label: str) -> str:
    return f"[role=table][aria-label={label}]"


def names(page, label: str) -> list[str]:
    """Whole names, which titles have; the cells may lack the middle of long ones."""
    first = json.dumps(f"{table(label)} .row .cell:first-child")
    return page.run(f"""[...document.querySelectorAll({first})].map((cell) =>
        cell.title || (cell.querySelector("[title]") || {{}}).title || cell.textContent)""")


def shown_names(page, label: str) -> list[str]:
    return texts(page, f"{table(label)} .row .cell:first-child")


def click(page, selector: str, number=0) -> None:
    page.run(f"document.querySelectorAll({json.dumps(selector)})[{number}].click()")


def choose_container(page, name: str) -> None:
    """Goes to a container of the overview, by its link."""
    page.run("location.hash = ''; new Promise((r) => setTimeout(r, 50))")
    type_into(page, "input[type=search]", name)
    page.run(f"""[...document.querySelectorAll("[role=table][aria-label=Containers] a")]
        .find((one) => one.title === {json.dumps(name)}).click();
        new Promise((r) => setTimeout(r, 50))""")


def type_into(page, selector: str, text: str) -> None:
    page.run(f"""{{ const box = document.querySelector({json.dumps(selector)});
        box.value = {json.dumps(text)}; box.dispatchEvent(new Event("input")); }}""")


def drawn_charts(page) -> list[dict]:
    """Of each chart: how large it is, and whether something is drawn in it."""
    page.run("new Promise((r) => setTimeout(r, 200))")
    return page.run("""[...document.querySelectorAll(".chart canvas")].map((canvas) => {
        // A copy: Chromium logs advice about canvases that are read often.
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
        copy.drawImage(canvas, 0, 0);
        const pixels = copy.getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set(new Uint32Array(pixels.data.buffer));
        return {width: canvas.width, height: canvas.height, colours: colours.size,
                chart: Boolean(Chart.getChart(canvas))};
    })""")


def hostile_container(path):
    """Every text of it is an attack on the page: names, metadata, documents."""
    lanes = [{"id": name, "dtype": "f32", "shape": []} for name in HOSTILE]
    meta = {"wshard": {"</script>": "<b>"}, "episode": {"episode_id": HOSTILE[0], "length_T": 3},
            "channels": {"channels": lanes}}
    entries = [entry(f"meta/{key}", json.dumps(value).encode()) for key, value in meta.items()]
    values = struct.pack("<3f", 1, 2, float("nan"))
    entries += [entry(f"signal/{name}".encode(), values) for name in HOSTILE]
    entries += [entry(b"signal/\xff\xfe</script>", values), entry(b"\x00\x01\x7f", b"")]
    path.write_bytes(build(entries, role=5))
    return path


def contrast(page, selector: str) -> float:
    """Of the text of an element and what is behind it (WCAG 2.1)."""
    return page.run(f"""(() => {{
        const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255).map((c) =>
            c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const one = document.querySelector({json.dumps(selector)});
        let behind = one;
        while (numbers(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
        const pair = [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor]
            .map((colour) => light(numbers(colour))).sort((a, b) => a - b);
        return (pair[1] + 0.05) / (pair[0] + 0.05);
    }})()""")


# What is wrong with how a page is laid out: text that runs out of the page, texts
# over each other, numbers that are cut, names that are cut and have no title, and
# text that is hard to read (WCAG 2.1).
LAYOUT = """(() => {
    const found = [];
    const root = document.documentElement;
    if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} wide`);
    const clip = (rect, node) => {
        let {left, top, right, bottom} = rect;
        for (let one = node; one !== null; one = one.parentElement) {
            if (getComputedStyle(one).overflowX === "visible") continue;
            const by = one.getBoundingClientRect();
            left = Math.max(left, by.left); right = Math.min(right, by.right);
            top = Math.max(top, by.top); bottom = Math.min(bottom, by.bottom);
        }
        return {left, top, right, bottom};
    };
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => numbers(colour).slice(0, 3).map((c) => c / 255).map((c) =>
        c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (node) => {
        let behind = node;
        while (numbers(getComputedStyle(behind).backgroundColor)[3] === 0) {
            behind = behind.parentElement;
        }
        const pair = [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor]
            .map(light).sort((a, b) => a - b);
        return (pair[1] + 0.05) / (pair[0] + 0.05);
    };
    const groups = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let texts = 0;
    for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
        const node = text.parentElement;
        if (!text.data.trim() || !node.checkVisibility() || node.matches("script, option")) continue;
        ++texts;
        if (contrast(node) < 4.5) found.push(`contrast ${contrast(node)} of ${text.data}`);
        const range = document.createRange();
        range.selectNodeContents(text);
        const key = node.closest(".row, .head, .totals") || document.body;
        if (!groups.has(key)) groups.set(key, []);
        for (const whole of range.getClientRects()) {
            const rect = clip(whole, node);
            if (rect.right - rect.left < 1 || rect.bottom - rect.top < 1) continue;
            if (rect.right > innerWidth + 1 || rect.left < -1) found.push(`outside: ${text.data}`);
            for (const [other, said] of groups.get(key)) {
                if (said === text) continue;
                const wide = Math.min(rect.right, other.right) - Math.max(rect.left, other.left);
                const tall = Math.min(rect.bottom, other.bottom) - Math.max(rect.top, other.top);
                if (wide > 2 && tall > 3) found.push(`${text.data} is over ${said.data}`);
            }
            groups.get(key).push([rect, text]);
        }
    }
    for (const cell of document.querySelectorAll(".cell, .preview td, .barred *")) {
        if (cell.scrollWidth <= cell.clientWidth || !cell.clientWidth) continue;
        if (cell.classList.contains("number")) found.push(`cut: ${cell.textContent}`);
        const titled = cell.title || cell.querySelector("[title]");
        if (!titled) found.push(`cut, without a title: ${cell.textContent}`);
    }
    return [texts, found.slice(0, 20)];
})()"""


def layout_problems(page, least_texts: int) -> list[str]:
    count, found = page.run(LAYOUT)
    assert count >= least_texts
    return found


def described(page) -> list[tuple[str, str]]:
    """Each dt of the page and its dd, as a parser of HTML finds them in the document."""

    class Parser(html.parser.HTMLParser):
        """Collects the texts of elements."""

        def __init__(self):
            super().__init__()
            self.tag, self.found = "", []

        def handle_starttag(self, tag, attrs):
            if tag in ("dt", "dd"):
                self.tag = tag
                self.found.append("")

        def handle_endtag(self, tag):
            if tag == self.tag:
                self.tag = ""

        def handle_data(self, data):
            if self.tag:
                self.found[-1] += data

    parser = Parser()
    parser.feed(page.run("document.documentElement.outerHTML"))
    return list(zip(parser.found[::2], parser.found[1::2], strict=True))
