import Feeds
import Foundation
import XCTest

final class AtomTests: XCTestCase {
    func testReadsFeedAndEntries() throws {
        let parsed = parse(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr" xml:base="https://cdn.example/base/">
              <title type="html">Quais &amp;amp; mer</title><subtitle type="text">a &lt; b</subtitle>
              <id>urn:feed</id><updated>2026-11-20T10:00:00.25+01:00</updated>
              <link href="/site"/><link rel="self" href="atom.xml"/><link rel="next" href="atom-2.xml"/>
              <author><name>Ève</name><email>eve@example.org</email><uri>https://eve.example/</uri></author>
              <icon>icon.ico</icon><logo>logo.png</logo><rights>free</rights>
              <generator uri="https://g.example" version="7">Gen</generator>
              <entry xml:base="entries/">
                <title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Haute <b>mer</b></div></title>
                <id>urn:1</id><link rel="alternate" type="text/html" hreflang="fr" href="1.html"/>
                <link rel="enclosure" type="audio/ogg" length="5" href="1.ogg" title="Son"/>
                <link rel="related" href="https://other.example/"/>
                <published>2026-11-19T08:00:00Z</published><updated>2026-11-19T09:00:00Z</updated>
                <author><name>Jean</name></author><contributor><name>Paul</name></contributor>
                <category term="mer" scheme="urn:s" label="La mer"/>
                <summary>x &lt; y
            z</summary>
                <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Un <i>a</i> <i>b</i> &amp; c<br/></p></div></content>
              </entry>
              <entry><id>urn:2</id><title>plain &lt;b&gt;</title><content type="html">&lt;p&gt;h&lt;/p&gt;</content></entry>
              <entry><id>urn:3</id><content type="application/pdf" src="3.pdf"/></entry>
            </feed>
            """)
        XCTAssertNil(parsed.error)
        let feed = try XCTUnwrap(parsed.feed)
        XCTAssertEqual(feed.format, FeedFormat(.atom, version: "1.0"))
        XCTAssertEqual([feed.title, feed.summary, feed.language], ["Quais & mer", "a &lt; b", "fr"])
        XCTAssertEqual(
            [feed.link, feed.selfURL, feed.nextURL, feed.image],
            [
                "https://cdn.example/site", "https://cdn.example/base/atom.xml", "https://cdn.example/base/atom-2.xml",
                "https://cdn.example/base/logo.png",
            ])
        XCTAssertEqual(feed.authors, [ParsedAuthor(name: "Ève", email: "eve@example.org", url: "https://eve.example/")])
        XCTAssertEqual(
            feed.updated?.timeIntervalSince1970, try date("2026-11-20T09:00:00Z").timeIntervalSince1970 + 0.25)
        XCTAssertEqual(feed.extensions.map(\.name), ["id", "icon", "generator"])

        let first = try XCTUnwrap(parsed.articles.first)
        XCTAssertEqual(first.title, "Haute mer")
        XCTAssertEqual(first.link, "https://cdn.example/base/entries/1.html")
        XCTAssertEqual(first.baseURL, "https://cdn.example/base/entries/")
        XCTAssertEqual(
            first.enclosures,
            [
                ParsedEnclosure(
                    url: "https://cdn.example/base/entries/1.ogg", type: "audio/ogg", byteCount: 5, title: "Son")
            ])
        XCTAssertEqual(first.published, try date("2026-11-19T08:00:00Z"))
        XCTAssertEqual(first.updated, try date("2026-11-19T09:00:00Z"))
        XCTAssertEqual(first.authorNames, ["Jean"])
        XCTAssertEqual(first.categories, [ParsedCategory(term: "mer", label: "La mer", scheme: "urn:s")])
        XCTAssertEqual(first.summary, "x &lt; y<br>\nz")
        XCTAssertEqual(first.content, "<p>Un <i>a</i> <i>b</i> &amp; c<br></p>")
        XCTAssertEqual(first.extensions.map(\.name), ["link", "link", "contributor"])
        XCTAssertEqual(first.extensions[0].attributes, [FeedAttribute(name: "hreflang", value: "fr")])

        XCTAssertEqual(parsed.articles[1].title, "plain <b>")
        XCTAssertEqual(parsed.articles[1].content, "<p>h</p>")
        XCTAssertNil(parsed.articles[2].content)
        XCTAssertEqual(parsed.articles[2].extensions.first?.attribute("src"), "3.pdf")
    }

    func testReadsAtom03() throws {
        let parsed = parse(
            """
            <feed version="0.3" xmlns="http://purl.org/atom/ns#"><title mode="escaped" type="text/html">A &amp;amp; B</title>
            <tagline>old</tagline><modified>2003-12-13T18:30:02Z</modified>
            <entry><title>E</title><id>i</id><issued>2003-12-13T08:29:29-04:00</issued>
            <content type="text/html" mode="escaped">&lt;b&gt;x&lt;/b&gt;</content></entry></feed>
            """)
        XCTAssertEqual(parsed.feed?.format, FeedFormat(.atom, version: "0.3"))
        XCTAssertEqual(parsed.feed?.title, "A & B")
        XCTAssertEqual(parsed.articles.first?.content, "<b>x</b>")
        XCTAssertEqual(parsed.articles.first?.published, try date("2003-12-13T12:29:29Z"))
    }

    func testReadsAniTunesChart() throws {
        let parsed = parse(
            """
            <?xml version="1.0" encoding="utf-8"?>
            <feed xmlns:im="http://itunes.apple.com/rss" xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
              <id>https://charts.example/us/topalbums</id><title>Top Albums</title>
              <entry>
                <updated>2026-11-20T10:00:00-07:00</updated>
                <id im:id="1440857781">https://charts.example/album/1440857781</id>
                <title>Low Tide - The Piers</title>
                <im:name>Low Tide</im:name>
                <link rel="alternate" type="text/html" href="https://charts.example/album/1440857781"/>
                <im:contentType term="Music" label="Music"><im:contentType term="Album" label="Album"/></im:contentType>
                <category im:id="20" term="Alternative" scheme="https://charts.example/genre" label="Alternative"/>
                <im:artist href="https://charts.example/artist/5">The Piers</im:artist>
                <im:price amount="9.99000" currency="USD">$9.99</im:price>
                <im:image height="55">https://img.example/55.png</im:image>
                <im:image height="170">https://img.example/170.png</im:image>
                <im:image height="60">https://img.example/60.png</im:image>
                <rights>(c) Pier Records</rights>
                <im:releaseDate label="October 2, 2026">2026-10-02T00:00:00-07:00</im:releaseDate>
                <content type="html">&lt;img src="https://img.example/170.png"/&gt;</content>
              </entry>
            </feed>
            """)
        XCTAssertNil(parsed.error)
        let article = try XCTUnwrap(parsed.articles.first)
        XCTAssertEqual(article.title, "Low Tide - The Piers")
        XCTAssertEqual(article.authorNames, ["The Piers"])
        XCTAssertEqual(article.image, "https://img.example/170.png")
        XCTAssertEqual(article.published, try date("2026-10-02T07:00:00Z"))
        XCTAssertEqual(
            article.categories,
            [ParsedCategory(term: "Alternative", label: "Alternative", scheme: "https://charts.example/genre")])
        let chart = try XCTUnwrap(ChartDetails(extensions: article.extensions))
        XCTAssertEqual([chart.name, chart.artist, chart.identifier], ["Low Tide", "The Piers", "1440857781"])
        XCTAssertEqual(chart.artistURL, "https://charts.example/artist/5")
        XCTAssertEqual(chart.price?.amount, Decimal(string: "9.99"))
        XCTAssertEqual([chart.price?.currency, chart.price?.label], ["USD", "$9.99"])
        XCTAssertEqual(chart.images.map(\.height), [55, 170, 60])
        XCTAssertEqual(chart.contentTypes, ["Music", "Album"])
        XCTAssertEqual(chart.releaseDate, try date("2026-10-02T07:00:00Z"))
        let release = article.extensions.first { $0.name == "releaseDate" }
        XCTAssertEqual(release?.attribute("label"), "October 2, 2026")
        XCTAssertNil(ChartDetails(extensions: []))
    }
}
