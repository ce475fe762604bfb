"""Pages in headless Chromium, for tests: the document after loading, and the console."""

from __future__ import annotations

import re
import shutil
import subprocess

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
PROBE = """<script>
document.documentElement.dataset.overflow =
  document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.documentElement.dataset.pictures =
  [...document.querySelectorAll("svg")].filter(each => each.clientHeight < 20).length;
</script></body>"""


def opened(text, path, width):
    """Open a page in Chromium; return its document after loading, and the console's lines."""
    path.write_text(text, encoding="utf-8")
    arguments = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--enable-logging=stderr", "--v=0", f"--window-size={width},900", "--dump-dom",
        f"--user-data-dir={path.parent / 'profile'}", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        [CHROMIUM, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def probed(text):
    """Return a page without its policy, which measures itself when it is loaded."""
    return POLICY.sub("", text).replace("</body>", PROBE)
