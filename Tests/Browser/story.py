"""Uses `ferry ui` in a headless Chromium, as a person would: every view in light, dark and at a phone's width; news while other
programs write; conflicts, and a row's past; a database that goes and comes back.

    story.py FERRY [--pictures FOLDER]
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium, Failure, program  # noqa: E402
from views import LOOKS, open_page, show  # noqa: E402

FERRY = os.path.abspath(sys.argv[1])
PICTURES = os.path.abspath(sys.argv[sys.argv.index("--pictures") + 1]) if "--pictures" in sys.argv else None

SCHEMA = """
    CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, country TEXT);
    CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER REFERENCES artist(id), year INTEGER,
        plays INTEGER DEFAULT 0, rating REAL, cover BLOB, notes TEXT);
    CREATE TABLE tag(name TEXT PRIMARY KEY, color TEXT);
    CREATE TABLE song_tag(song_id INTEGER REFERENCES song(id) ON DELETE CASCADE, tag TEXT REFERENCES tag(name),
        PRIMARY KEY(song_id, tag));
    CREATE TABLE big(id INTEGER PRIMARY KEY, number INTEGER, text TEXT);
    CREATE VIEW best AS SELECT * FROM song WHERE rating > 4.5;
    INSERT INTO artist(name, country) VALUES ('Nina Simone', 'US'), ('Björk', 'IS'), ('Fela Kuti', 'NG'), ('Arvo Pärt', 'EE'),
        ('Cesária Évora', 'CV');
    INSERT INTO tag VALUES ('evening', '#334'), ('loud', '#a33'), ('quiet', '#8aa');
    INSERT INTO song(title, artist_id, year, rating, cover, notes) VALUES
        ('Sinnerman', 1, 1965, 4.9, x'89504e470d0a', 'Ten minutes long.'), ('Jóga', 2, 1997, 4.7, NULL, 'With strings.'),
        ('Zombie', 3, 1976, 4.8, NULL, NULL), ('Spiegel im Spiegel', 4, 1978, 4.6, NULL, 'For violin and piano.'),
        ('Sodade', 5, 1992, 4.5, NULL, ''),
        ('<img src=x onerror="document.title=666"><script>document.title=666</script>', 2, 2001, 1.0, NULL, '{{7*7}} javascript:0');
    INSERT INTO song_tag VALUES (1, 'loud'), (2, 'evening'), (4, 'quiet');
    INSERT INTO big VALUES (9007199254740993, -9223372036854775808, 'x');
    """


def check(holds, what):
    if not holds:
        raise Failure(what)


def ferry(*words):
    done = subprocess.run([FERRY, *words], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"ferry {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def write(path, *statements):
    database = sqlite3.connect(path, timeout=20, isolation_level=None)
    try:
        for statement in statements:
            database.execute(statement)
    finally:
        database.close()


def value(path, query):
    database = sqlite3.connect(path, timeout=20)
    try:
        return database.execute(query).fetchone()[0]
    finally:
        database.close()


class Page:
    """A running `ferry ui`."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [FERRY, "ui", *words, "--json", "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        check(line, "ferry ui said nothing")
        report = json.loads(line)
        self.address, self.port = report["address"], report["port"]
        self.token = self.address.split("#token=")[1]
        self.root = f"http://127.0.0.1:{self.port}"

    def ask(self, name):
        request = urllib.request.Request(f"{self.root}/api/{name}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def end(self, with_signal=signal.SIGTERM):
        start = time.monotonic()
        self.process.send_signal(with_signal)
        status = self.process.wait(20)
        errors = self.process.stderr.read()
        check(status == 0, f"ferry ui ended with {status}: {errors}")
        check(time.monotonic() - start < 5, "ferry ui took long to end")


VIEWS = ["", "conflicts", "rows/song", "row/song/1", "hidden", "container"]

# What a screen reader and a keyboard need of any view.
AUDIT = """(() => {
  const found = [];
  const name = (one) => (one.getAttribute('aria-label') || one.textContent || one.getAttribute('placeholder') || '').trim();
  for (const one of document.querySelectorAll('a, button, input, select, summary')) {
    const label = one.closest('label') ? one.closest('label').textContent.trim() : '';
    if (!name(one) && !label) found.push('no name: ' + one.outerHTML.slice(0, 120));
  }
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) found.push('twice: #' + id);
  for (const wanted of ['header', 'nav[aria-label]', 'main', 'h1', '[role=status][aria-live]', '[role=alert]'])
    if (!document.querySelector(wanted)) found.push('no ' + wanted);
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
  for (const one of document.querySelectorAll('table')) if (!one.caption) found.push('a table without a caption');
  for (const one of document.querySelectorAll('svg')) if (!one.getAttribute('aria-label') && !one.getAttribute('aria-hidden')) found.push('a drawing without words');
  for (const one of document.querySelectorAll('[style], img, iframe, object')) found.push('not allowed: ' + one.outerHTML.slice(0, 120));
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push('wider than the window by ' + wide);
  return found;
})()"""

# The least contrast of text on its background, as the Web Content Accessibility Guidelines compute it.
CONTRAST = """(() => {
  const parse = (text) => { const parts = text.match(/[\\d.]+/g).map(Number); return parts.length < 4 ? [...parts, 1] : parts; };
  const light = ([r, g, b]) => { const f = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = (one) => { for (let node = one; node; node = node.parentElement) {
    const color = parse(getComputedStyle(node).backgroundColor); if (color[3] > 0.99) return color; } return parse(getComputedStyle(document.documentElement).backgroundColor); };
  let worst = [99, ''];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !one.getClientRects().length || one.closest('.unseen, .skip, noscript, script, svg')) continue;
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, one.className + ': ' + walker.currentNode.textContent.slice(0, 40)];
  }
  return worst;
})()"""


def picture(browser, name, whole=False):
    if PICTURES:
        browser.picture(os.path.join(PICTURES, name + ".png"), whole)


def look_at_every_view(browser):
    for mode, look in LOOKS.items():
        browser.set(**look)
        for view in VIEWS:
            show(browser, view)
            problems = browser.value(AUDIT)
            check(not problems, f"{view or 'overview'}, {mode}: {problems}")
            contrast, place = browser.value(CONTRAST)
            check(contrast >= 4.5, f"{view or 'overview'}, {mode}: contrast {contrast:.2f} of {place}")
            title = browser.value("document.querySelector('h1').textContent")
            check(title and title != "There is nothing to show now", f"{view}: {browser.text()}")
            focus = browser.value("document.activeElement.id")
            check(focus == "title", f"{view}, {mode}: the title has no focus, but {focus}")
            shown = {"": "overview", "conflicts": "conflicts", "row/song/1": "row"}
            if (view, mode) in [("", "light"), ("conflicts", "dark"), ("row/song/1", "phone")]:
                picture(browser, f"ui-{shown[view]}-{mode}")


def read_by_keyboard(browser):
    browser.set()
    show(browser, "")
    # As after opening the page: from the beginning.
    browser.value("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); 1")
    seen = []
    for _ in range(8):
        browser.key("Tab")
        seen.append(browser.value("document.activeElement.id"))
    check(seen[0] == "skip", f"the first stop is the way to the content: {seen}")
    check(seen[1:6] == ["view-", "view-conflicts", "view-rows", "view-hidden", "view-container"], f"the views come next: {seen}")


def watch_news(browser, folder):
    """Other programs write, and the page shows it by itself, without a word lost that a person is writing."""
    path = os.path.join(folder, "music.sqlite")
    show(browser, "rows/song")
    browser.value("document.getElementById('search').focus(); document.getElementById('search').value = 'half a wo'; 1")
    write(path, "UPDATE song SET title = 'Zombie (Berlin)' WHERE id = 3")
    browser.until("document.querySelector('main').innerText.includes('Zombie (Berlin)')", "a commit of another program")
    check(browser.value("document.getElementById('search').value") == "half a wo", "the half-written word is lost")
    check(browser.value("document.activeElement.id") == "search", "the focus is lost")
    show(browser, "")
    write(os.path.join(folder, "b.sqlite"), "UPDATE song SET plays = 41 WHERE title LIKE 'Sodade%'")
    ferry("sync", os.path.join(folder, "b.sqlite"))
    # `ferry watch` runs beside the page and takes the change in.
    browser.until("document.querySelector('main').innerText.includes('plays')", "a change of another device")
    browser.value("document.getElementById('search')?.blur(); 1")


def search(browser):
    show(browser, "rows/song")
    browser.value("document.getElementById('search').value = 'spiegel'; document.getElementById('search-go').click(); 1")
    browser.until("location.hash.includes('search=spiegel') && document.querySelectorAll('tbody tr').length === 1", "a search")
    show(browser, "rows/big")
    text = browser.text()
    check("9007199254740993" in text and "-9223372036854775808" in text, f"large integers are not exact: {text}")


def settle_conflicts(browser, folder):
    path = os.path.join(folder, "music.sqlite")
    show(browser, "conflicts")
    text = browser.text()
    check("Sinnerman (live)" in text and "Sinnerman – 1965" in text, f"both values are shown: {text}")
    number = browser.value(
        "[...document.querySelectorAll('article')].find((one) => one.innerText.includes('Sinnerman (live)'))"
        ".querySelector('h2').id.split('-')[1]")
    browser.value(f"document.getElementById('restore-{number}').focus(); 1")
    browser.key("Enter")
    browser.until("document.getElementById('notice').textContent.includes('restored title')", "the restored value is told")
    check(value(path, "SELECT title FROM song WHERE id = 1") == "Sinnerman (live)", "the value is not back")
    browser.until(f"!document.getElementById('restore-{number}')", "the conflict leaves the list")
    other = browser.until("document.querySelector('button[id^=settle-]')?.id", "another conflict")
    browser.value(f"document.getElementById('{other}').click(); 1")
    browser.until(f"!document.getElementById('{other}')", "the settled conflict leaves the list")
    show(browser, "conflicts?settled=1")
    browser.until("document.querySelectorAll('article').length === 2", "both are among the settled")


def bring_back_a_moment(browser, folder):
    path = os.path.join(folder, "music.sqlite")
    show(browser, "row/song/1")
    browser.value("[...document.querySelectorAll('.timeline button')].at(-1).click(); 1")
    browser.until("document.getElementById('question').open", "a question before a row is restored")
    check("would be restored" in browser.value("document.getElementById('question').innerText"), "the plan is told")
    browser.key("Escape")
    browser.until("!document.getElementById('question').open", "Escape closes the question")
    check(value(path, "SELECT title FROM song WHERE id = 1") == "Sinnerman (live)", "a question changes nothing")
    browser.value("[...document.querySelectorAll('.timeline button')].at(-1).click(); 1")
    browser.until("document.getElementById('question').open")
    browser.value("document.getElementById('question-yes').click(); 1")
    browser.until("document.getElementById('notice').textContent.includes('song 1: restored')", "the restored row is told")
    check(value(path, "SELECT title FROM song WHERE id = 1") == "Sinnerman", "the row is not what it was")


def refuse_strangers(browser, page):
    show(browser, "rows/song")
    check("666" not in browser.value("document.title"), "markup in a value was obeyed")
    check(browser.value("document.querySelectorAll('main script, main img').length") == 0, "markup in a value became elements")
    own = [one for one in browser.requests() if not one.startswith(page.root + "/")]
    check(not [one for one in own if one.startswith(("http", "ws"))], f"the page asked elsewhere: {own}")
    check(not any("token" in one or page.token in one for one in browser.requests()), "the token is in an address that was asked for")
    for headers in [{}, {"Authorization": "Bearer " + "0" * 64}, {"Authorization": f"Bearer {page.token}", "Origin": "http://evil.example"}]:
        try:
            urllib.request.urlopen(urllib.request.Request(page.root + "/api/overview", headers=headers), timeout=20)
            raise Failure(f"answered {headers}")
        except urllib.error.HTTPError as error:
            check(error.code in (401, 403), f"{error.code} for {headers}")


def lose_the_database(browser, folder):
    path = os.path.join(folder, "music.sqlite")
    show(browser, "")
    kept = os.path.join(folder, "kept")
    os.mkdir(kept)
    names = [one for one in os.listdir(folder) if one.startswith("music.sqlite")]
    for name in names:
        os.rename(os.path.join(folder, name), os.path.join(kept, name))
    browser.until("document.querySelector('main').innerText.includes('no database')", "a sentence about the lost database")
    for name in names:
        os.rename(os.path.join(kept, name), os.path.join(folder, name))
    browser.until("document.querySelector('main').innerText.includes('Newest changes')", "the database is back")
    check(os.path.exists(path), "the database is there")


def lie_idle(browser, folder):
    """A page that is open and has no news holds no lock: writers without any patience get in."""
    show(browser, "conflicts")
    path = os.path.join(folder, "music.sqlite")
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        for _ in range(50):
            database.execute("BEGIN EXCLUSIVE")
            database.execute("ROLLBACK")
            time.sleep(0.01)
    finally:
        database.close()


def forget_the_token(page):
    with Chromium() as browser:
        browser.open(page.root + "/")
        browser.until("document.querySelector('h1')?.textContent === 'This page is locked'", "a page without the token is locked")
        check("Sinnerman" not in browser.text(), "a page without the token shows nothing")


def make(folder):
    for one in ["music.sqlite", "b.sqlite", "c.sqlite"]:
        path = os.path.join(folder, one)
        if one == "music.sqlite":
            database = sqlite3.connect(path)
            database.executescript("PRAGMA journal_mode = WAL;" + SCHEMA)
            database.close()
            ferry("init", path, os.path.join(folder, "shared"), "--name", "study", "--open")
        else:
            ferry("join", path, os.path.join(folder, "shared"), "--name", {"b.sqlite": "kitchen", "c.sqlite": "phone"}[one])
    paths = [os.path.join(folder, one) for one in ["music.sqlite", "b.sqlite", "c.sqlite"]]
    def sync():
        for _ in range(2):
            for path in paths:
                ferry("sync", path)
    sync()
    write(
        paths[0], "UPDATE song SET title = 'Sinnerman (live)' WHERE id = 1",
        "UPDATE song SET notes = 'Ten minutes and twenty seconds, recorded in New York.' WHERE id = 1",
        "DELETE FROM song WHERE title = 'Sodade'", "UPDATE artist SET country = 'Iceland' WHERE name = 'Björk'")
    time.sleep(0.05)
    write(
        paths[1], "UPDATE song SET title = 'Sinnerman – 1965', plays = 12 WHERE title = 'Sinnerman'",
        "UPDATE song SET year = 1993 WHERE title = 'Sodade'", "INSERT INTO artist(name, country) VALUES ('Alice Coltrane', 'US')",
        "INSERT INTO song(title, artist_id, year) SELECT 'Journey in Satchidananda', id, 1971 FROM artist WHERE name LIKE 'Alice%'")
    time.sleep(0.05)
    write(
        paths[2], "UPDATE song SET rating = 5.0 WHERE title = 'Zombie'", "INSERT INTO artist(name, country) VALUES ('Alice Coltrane', 'USA')",
        "INSERT INTO song(title, artist_id, year) SELECT 'Turiya', id, 1970 FROM artist WHERE name LIKE 'Alice%'",
        "UPDATE artist SET country = 'Ísland' WHERE name = 'Björk'")
    sync()


def main():
    if not program():
        sys.exit("story.py: needs Chromium (apt-get install chromium, or CHROMIUM=path)")
    folder = tempfile.mkdtemp(prefix="ferry-ui-")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        make(folder)
        path = os.path.join(folder, "music.sqlite")
        watch = subprocess.Popen([FERRY, "watch", path, "--quiet"])
        stack.callback(lambda: (watch.terminate(), watch.wait()))
        page = Page(path)
        stack.callback(lambda: page.process.poll() is None and page.process.kill())
        with Chromium() as browser:
            browser.set()
            open_page(browser, page.address)
            check("token" not in browser.value("location.href"), "the token stays in the address")
            for step in [
                lambda: look_at_every_view(browser), lambda: read_by_keyboard(browser), lambda: watch_news(browser, folder),
                lambda: search(browser), lambda: settle_conflicts(browser, folder), lambda: bring_back_a_moment(browser, folder),
                lambda: refuse_strangers(browser, page), lambda: forget_the_token(page),
            ]:
                step()
            complaints = [one for one in browser.complaints() if "401" not in one]
            check(not complaints, f"the browser complained: {complaints}")
        watch.terminate()
        watch.wait()
        with Chromium() as browser:
            browser.set()
            open_page(browser, page.address)
            lie_idle(browser, folder)
            lose_the_database(browser, folder)
            page.end(signal.SIGINT)
            browser.until("document.getElementById('live').innerText.includes('Not connected')", "the page tells its end")
        reader = Page(path, "--read-only")
        with Chromium() as browser:
            browser.set()
            open_page(browser, reader.address)
            for view in ["conflicts", "row/song/1"]:
                show(browser, view)
                check(browser.value("document.querySelectorAll('main .buttons, .timeline button').length") == 0, "a page to read alone acts")
        reader.end()
    print("The page holds.")


if __name__ == "__main__":
    main()
