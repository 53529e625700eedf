import Feeds
import Foundation
import XCTest

final class RSSTests: XCTestCase {
    private let podcast = """
        <?xml version="1.0" encoding="UTF-8"?>
        <?xml-stylesheet href="/style.xsl" type="text/xsl"?>
        <rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
            xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"
            xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"
            xmlns:own="urn:example:own">
          <channel>
            <title>Ferries &amp;amp; Boats</title>
            <link>https://example.org/</link>
            <description>About &lt;b&gt;ships&lt;/b&gt;.</description>
            <language>en-gb</language>
            <copyright>2026 Harbour Press</copyright>
            <managingEditor>ann@example.org (Ann Lee)</managingEditor>
            <lastBuildDate>Sun, 22 Nov 2026 10:00:00 +0100</lastBuildDate>
            <category>Travel</category>
            <generator>Pier 3</generator>
            <ttl>90</ttl>
            <image><url>/logo.png</url><title>Ferries</title><link>https://example.org/</link></image>
            <atom:link rel="self" type="application/rss+xml" href="https://example.org/feed.xml"/>
            <atom:link rel="next" href="feed?page=2"/>
            <atom:link rel="hub" href="https://hub.example/"/>
            <cloud domain="rpc.example.org" port="80"/>
            <own:mood level="3">calm</own:mood>
            <item>
              <title>A &lt;em&gt;new&lt;/em&gt; ship &#8212; the &quot;Swan&quot;</title>
              <link>/2026/swan</link>
              <guid isPermaLink="false"> tag:example.org,2026:swan </guid>
              <pubDate>Sat, 21 Nov 2026 09:30:00 EST</pubDate>
              <author>bob@example.org (Bob)</author>
              <dc:creator>Carol</dc:creator>
              <dc:date>2026-11-21T14:30:00Z</dc:date>
              <category domain="https://example.org/tags">Ships</category>
              <dc:subject>News</dc:subject>
              <description>In short</description>
              <content:encoded><![CDATA[<p>At length &amp; <img src="swan.jpg"></p>]]></content:encoded>
              <enclosure url="https://example.org/swan.mp3" length="12345" type="audio/mpeg"/>
              <itunes:duration>1:02:03</itunes:duration>
              <media:thumbnail url="swan-small.jpg" width="100"/>
              <comments>https://example.org/2026/swan#comments</comments>
              <own:place lat="53.5" own:name="Hull"><own:pier>3</own:pier> east <own:pier>4</own:pier></own:place>
            </item>
            <item><guid>https://example.org/second</guid><description>no title</description></item>
          </channel>
        </rss>
        """

    func testReadsWhatAFeedSaysOfItself() throws {
        let parsed = parse(podcast)
        let feed = try XCTUnwrap(parsed.feed)
        XCTAssertEqual(feed.format.description, "RSS 2.0")
        XCTAssertEqual(feed.title, "Ferries & Boats")
        XCTAssertEqual(feed.link, "https://example.org/")
        XCTAssertEqual(feed.summary, "About <b>ships</b>.")
        XCTAssertEqual(feed.language, "en-gb")
        XCTAssertEqual(feed.copyright, "2026 Harbour Press")
        XCTAssertEqual(feed.generator, "Pier 3")
        XCTAssertEqual(feed.authors, [ParsedAuthor(name: "Ann Lee", email: "ann@example.org")])
        XCTAssertEqual(feed.updated, try date("2026-11-22T09:00:00Z"))
        XCTAssertEqual(feed.categories, [ParsedCategory(term: "Travel")])
        XCTAssertEqual(feed.minutesToLive, 90)
        XCTAssertEqual(feed.image, "https://example.org/logo.png")
        XCTAssertEqual(feed.selfURL, "https://example.org/feed.xml")
        XCTAssertEqual(feed.nextURL, "https://example.org/blog/feed?page=2")
        XCTAssertEqual(feed.repairs, [])
        XCTAssertEqual(feed.extensions.map(\.name), ["link", "cloud", "mood"])
        XCTAssertEqual(feed.extensions.last?.text, "calm")
        XCTAssertEqual(parsed.announcedFeed, feed, "all of it came before the first article")
    }

    func testReadsAnArticleWithItsModules() throws {
        let article = try XCTUnwrap(parse(podcast).articles.first)
        XCTAssertEqual(article.guid, "tag:example.org,2026:swan")
        XCTAssertEqual(article.guidSource, .declared)
        XCTAssertEqual(article.title, "A new ship — the \"Swan\"")
        XCTAssertEqual(article.link, "https://example.org/2026/swan")
        XCTAssertEqual(article.published, try date("2026-11-21T14:30:00Z"))
        XCTAssertEqual(article.authorNames, ["Bob", "Carol"])
        XCTAssertEqual(
            article.categories,
            [ParsedCategory(term: "Ships", scheme: "https://example.org/tags"), ParsedCategory(term: "News")])
        XCTAssertEqual(article.summary, "In short")
        XCTAssertEqual(article.content, "<p>At length &amp; <img src=\"swan.jpg\"></p>")
        XCTAssertEqual(
            article.enclosures,
            [
                ParsedEnclosure(
                    url: "https://example.org/swan.mp3", type: "audio/mpeg", byteCount: 12345, durationSeconds: 3723)
            ])
        XCTAssertEqual(article.image, "https://example.org/blog/swan-small.jpg")
        XCTAssertEqual(article.baseURL, "https://example.org/blog/feed")
    }

    func testKeepsWhatItDoesNotKnow() throws {
        let article = try XCTUnwrap(parse(podcast).articles.first)
        XCTAssertEqual(article.extensions.map(\.name), ["duration", "thumbnail", "comments", "place"])
        XCTAssertEqual(article.extensions[1].attributes, [FeedAttribute(name: "width", value: "100")])
        let place = try XCTUnwrap(article.extensions.last)
        XCTAssertEqual(place.namespace, "urn:example:own")
        XCTAssertEqual(
            place.attributes,
            [
                FeedAttribute(name: "lat", value: "53.5"),
                FeedAttribute(name: "name", namespace: "urn:example:own", value: "Hull"),
            ])
        let pier = { (number: String) in
            FeedNode.element(
                FeedElement(name: "pier", namespace: "urn:example:own", children: [.text(number)]))
        }
        XCTAssertEqual(place.children, [pier("3"), .text(" east "), pier("4")])
        let json = try JSONEncoder().encode(article.extensions)
        XCTAssertEqual(try JSONDecoder().decode([FeedElement].self, from: json), article.extensions)
    }

    func testAGUIDThatIsAnAddressIsTheLinkToo() throws {
        let article = try XCTUnwrap(parse(podcast).articles.last)
        XCTAssertEqual(article.link, "https://example.org/second")
        XCTAssertNil(article.title)
        XCTAssertEqual(article.body, "no title")
    }

    func testReadsOldVersionsAndDoctypes() throws {
        let parsed = parse(
            """
            <!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"
              "http://my.netscape.com/publish/formats/rss-0.91.dtd">
            <rss version="0.91"><channel><title>Caf&eacute;</title>
            <item><title>AT&T &nbsp;rises</title><link>http://a.example/1</link></item>
            </channel></rss>
            """)
        XCTAssertNil(parsed.error)
        XCTAssertEqual(parsed.feed?.format, FeedFormat(.rss, version: "0.91"))
        XCTAssertEqual(parsed.feed?.title, "Café")
        XCTAssertEqual(parsed.titles, ["AT&T rises"])
        XCTAssertEqual(parsed.feed?.repairs, ["& stood for itself in 1 place(s)"])
    }

    func testReadsRDF() throws {
        let parsed = parse(
            """
            <?xml version="1.0"?>
            <!DOCTYPE rdf:RDF [<!ENTITY % HTMLlat1 PUBLIC "-//W3C//DTD XHTML 1.0 Latin 1//EN" "xhtml-lat1.ent">
            %HTMLlat1;]>
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
              xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
              <channel rdf:about="http://a.example/rdf"><title>Tides</title><link>http://a.example/</link>
                <description>High and low</description><dc:language>de</dc:language>
                <sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>
                <items><rdf:Seq><rdf:li rdf:resource="http://a.example/1"/></rdf:Seq></items>
                <image rdf:resource="http://a.example/i.png"/></channel>
              <image rdf:about="http://a.example/i.png"><url>http://a.example/i.png</url></image>
              <item rdf:about="http://a.example/1"><title>Ebb&uuml;</title><link>http://a.example/one</link>
                <dc:creator>Dora</dc:creator><dc:date>2026-01-05</dc:date></item>
              <item><title>Flood</title><link>http://a.example/two</link></item>
            </rdf:RDF>
            """)
        XCTAssertNil(parsed.error)
        let feed = try XCTUnwrap(parsed.feed)
        XCTAssertEqual(feed.format, FeedFormat(.rdf, version: "1.0"))
        XCTAssertEqual([feed.title, feed.link, feed.summary], ["Tides", "http://a.example/", "High and low"])
        XCTAssertEqual(feed.language, "de")
        XCTAssertEqual(feed.minutesToLive, 360)
        XCTAssertEqual(feed.image, "http://a.example/i.png")
        XCTAssertEqual(parsed.titles, ["Ebbü", "Flood"])
        XCTAssertEqual(parsed.articles.map(\.guid), ["http://a.example/1", "http://a.example/two"])
        XCTAssertEqual(parsed.articles.map(\.guidSource), [.declared, .link])
        XCTAssertEqual(parsed.articles[0].authorNames, ["Dora"])
        XCTAssertEqual(parsed.articles[0].published, try date("2026-01-05T00:00:00Z"))
    }

    func testAFieldThatIsThereTwiceIsKept() throws {
        let article = try XCTUnwrap(
            parse(
                """
                <rss><channel><item><title>one</title><title>two</title><pubDate>never</pubDate>
                <dc:title>one</dc:title><description/></item></channel></rss>
                """
            ).articles.first)
        XCTAssertEqual(article.title, "one")
        XCTAssertEqual(article.extensions.map(\.name), ["title", "pubDate"])
        XCTAssertEqual(article.extensions.map(\.text), ["two", "never"])
    }

    func testMediaGroupsGiveEnclosuresAndStayWhole() throws {
        let article = try XCTUnwrap(
            parse(
                """
                <rss xmlns:media="http://search.yahoo.com/mrss"><channel><item><media:group>
                <media:content url="https://v.example/1.mp4" type="video/mp4" fileSize="77" duration="9"/>
                <media:thumbnail url="https://v.example/1.jpg"/><media:title>Film</media:title>
                </media:group></item></channel></rss>
                """
            ).articles.first)
        XCTAssertEqual(article.title, "Film")
        XCTAssertEqual(article.image, "https://v.example/1.jpg")
        XCTAssertEqual(
            article.enclosures,
            [ParsedEnclosure(url: "https://v.example/1.mp4", type: "video/mp4", byteCount: 77, durationSeconds: 9)])
        XCTAssertEqual(article.extensions.map(\.name), ["group"])
    }
}
