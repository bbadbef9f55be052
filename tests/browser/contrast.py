"""Text on a page that is too faint to read, found by computation in the browser."""

from __future__ import annotations

from typing import Any

CONTRAST = """selector => {
    const rgba = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b]
        .map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = it => {
        for (; it; it = it.parentElement) {
            const colour = rgba(getComputedStyle(it).backgroundColor);
            if (colour.length < 4 || colour[3] > 0.99) return colour;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll(selector)]
        .filter(it => it.offsetParent && (it.value || it.textContent).trim())
        .filter(it => {
            const pair = [rgba(getComputedStyle(it).color), behind(it)].map(light);
            return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5;
        })
        .map(it => it.value || it.textContent);
}"""


def faint(page: Any, selector: str) -> list[str]:
    """Text of these elements whose contrast to what lies behind it is under 4.5 to 1 (WCAG AA)."""
    found: list[str] = page.evaluate(CONTRAST, selector)
    return found
