"""Pages of the HTML report in a browser: makes them, and opens them in Debian's chromium.

    with Browser(1440, 900, dark=False) as browser:
        browser.open(write_page(model, folder))
        browser.script("return data.totals")
        browser.console, browser.requests, browser.screenshot(path)

`make screenshots` runs this file: it writes the pictures of README, and one of each size and color scheme to
build/screenshots to look at.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[3]
DEPUTE = ROOT / "build" / "release" / "depute"


def write_program(path: Path, nodes: int) -> Path:
    """A program in text form with modules and lines: blocks of ten nodes, of which XNNPACK takes all but a tan."""
    lines = ["program", "", "method forward(%x: f32[1, 64]) {"]
    last = "x"
    for i in range(nodes):
        op = "aten.tan.default" if i % 10 == 7 else "aten.relu.default" if i % 2 else "aten.sigmoid.default"
        place = f'from "model.py":{20 + i % 10} "layers.{i // 10}.{"attention" if i % 10 < 5 else "mlp"}"'
        lines.append(f"  %v{i}: f32[1, 64] = {op}(%{last}) #{i + 1} {place}")
        last = f"v{i}"
    lines += [f"  return %{last}", "}", ""]
    path.write_text("\n".join(lines))
    return path


def write_page(model: Path, folder: Path, *arguments: str) -> Path:
    page = folder / f"{model.stem}.html"
    command = [DEPUTE, "lower", model, "--backend", "xnnpack", "-o", folder / f"{model.stem}.pte", "--report", page]
    subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, timeout=120)
    return page


class Browser:
    """A window without a screen, of a size in CSS pixels."""

    def __init__(self, width: int, height: int, dark: bool = False, webgl: bool = False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.add_argument("--enable-unsafe-swiftshader" if webgl else "--disable-gpu")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_page_load_timeout(60)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def command(self, name: str, parameters: dict | None = None):
        return self.driver.execute_cdp_cmd(name, parameters or {})

    def open(self, page: Path, fragment: str = "") -> float:
        """Loads the page and waits until it is ready; gives the seconds that took, by the page's own clock."""
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(page.resolve().as_uri() + fragment)
        for _ in range(300):
            if self.script("return document.documentElement.dataset.ready === 'yes'"):
                return self.script("return performance.getEntriesByName('ready')[0].startTime") / 1000
            time.sleep(0.1)
        raise AssertionError(f"{page} is not ready: {self.console}")

    def script(self, text: str, *arguments):
        return self.driver.execute_script(text, *arguments)

    def is_painted(self, canvas: str) -> bool:
        """Whether some pixel is not clear. Reads a copy: the browser warns of a canvas that is read more than once."""
        return self.script(
            """
            const shown = document.querySelector(arguments[0]);
            const copy = new OffscreenCanvas(shown.width, shown.height).getContext("2d", {willReadFrequently: true});
            copy.drawImage(shown, 0, 0);
            return copy.getImageData(0, 0, shown.width, shown.height).data.some(Boolean);
            """,
            canvas,
        )

    @property
    def console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def requests(self) -> list[str]:
        """What was asked for, the page itself included."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(path))
        return path

    def whole_page(self, path: Path) -> Path:
        """A picture of the page from top to bottom."""
        size = self.script("return [innerWidth, document.documentElement.scrollHeight]")
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", metrics)
        time.sleep(0.5)
        return self.screenshot(path)


def screenshots(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_page(Path("build/models/convnext_tiny.pt2"), folder)  # the times of the second are those of files that were read before
    pages = {
        "digits": write_page(Path("examples/digits/digits.pt2"), folder),
        "convnext": write_page(Path("build/models/convnext_tiny.pt2"), folder),
        "nodes500": write_page(write_program(folder / "nodes500.ir", 500), folder),
        "nodes20000": write_page(write_program(folder / "nodes20000.ir", 20_000), folder),
    }
    readme_pictures(pages["convnext"], Path("docs/images"))
    for name, page in pages.items():
        for width, height in ((390, 844), (1440, 900)):
            for dark in (False, True):
                with Browser(width, height, dark) as browser:
                    browser.open(page)
                    browser.whole_page(folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")


def readme_pictures(page: Path, folder: Path) -> None:
    """The top of the page, the graph with a node that was left, memory and bytes."""
    with Browser(1280, 720) as browser:
        browser.open(page)
        browser.screenshot(folder / "report.png")
        browser.open(page, "#node=native_layer_norm_57")
        browser.script("scrollTo(0, document.getElementById('picture').offsetTop - 10)")
        time.sleep(0.5)
        browser.screenshot(folder / "report-graph.png")
        browser.open(page)
        browser.script("scrollTo(0, document.getElementById('memory').offsetTop - 10)")
        time.sleep(0.5)
        browser.screenshot(folder / "report-memory.png")


if __name__ == "__main__":
    os.chdir(ROOT)  # pages name the files as they were given
    screenshots(Path("build/screenshots"))
