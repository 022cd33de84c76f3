"""The elements and texts of a page of HTML."""

from html.parser import HTMLParser

_VOID = frozenset("meta link img br input".split())


class Elements(HTMLParser):
    """The elements of a page with their attributes, in order, and its texts; AssertionError where one is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []  # each below the names of the elements that are open
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.all if tag in tags]

    @property
    def links(self) -> list[str]:
        addresses = [attributes.get("src") or attributes.get("href") for _, attributes in self.all]
        return [link for link in addresses if link and not link.startswith("data:")]
