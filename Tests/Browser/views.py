"""The views of the page of `ferry ui` in a browser, for all that look at them."""

# How a person looks at the page: arguments of `Chromium.set`.
LOOKS = {
    "light": {"width": 1180, "height": 860},
    "dark": {"width": 1180, "height": 860, "dark": True},
    "phone": {"width": 390, "height": 760, "mobile": True},
}


def open_page(browser, address):
    """Opens the address that `ferry ui` prints."""
    browser.open(address)
    browser.until("!!document.querySelector('h1')", "the page")


def show(browser, view):
    """Goes to a view, as in `conflicts` or `row/song/1`; the overview has no name. Waits until all of the view is there."""
    browser.value(f"location.hash = '#/{view}'; 1")
    browser.until(
        f"document.querySelector('main').dataset.shown === '#/{view}' && !document.querySelector('main').hasAttribute('aria-busy')",
        f"the view {view or 'overview'}")
