import Foundation
import TestSupport
import Testing

@Suite("The pages of the documentation")
struct DocumentLinkTests {
    @Test("lead to files that are there, and to headings of these")
    func links() throws {
        let pages = try Document.all()
        let anchors = Dictionary(uniqueKeysWithValues: pages.map { ($0.place, $0.anchors) })
        var named = 0
        for page in pages {
            for link in page.links {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let place = parts[0].isEmpty ? page.place : page.target(of: parts[0])
                #expect(FileManager.default.fileExists(atPath: place), "\(page.path): \(link)")
                guard parts.count == 2 else { continue }
                named += 1
                #expect(anchors[place]?.contains(parts[1]) == true, "\(page.path): \(link)")
            }
        }
        #expect(named > 5)
    }

    /// zsh, which is the shell of a Mac, takes what follows a `#` at its prompt for words of the command.
    @Test("have no remarks in what is pasted into a shell")
    func remarks() throws {
        let pasted = try Document.all().flatMap(\.lines).filter { $0.language == "sh" }
        #expect(pasted.count > 20)
        for line in pasted { #expect(!" \(line.text)".contains(" #"), "\(line.text)") }
    }

    @Test("are found: the README leads to every article, and so does the catalog's own page")
    func found() throws {
        let pages = try Document.all()
        let readme = try #require(pages.first { $0.path == "README.md" })
        let landing = try #require(pages.first { $0.text.hasPrefix("# ``accountctl``\n") })
        let articles = pages.filter { $0.path != readme.path && $0.path != landing.path }
        #expect(articles.count > 5)
        let places = Set(readme.links.map { readme.target(of: $0) })
        for article in articles { #expect(places.contains(article.place), "\(article.path)") }
        let listed = landing.text.matches(of: /\n- <doc:(\w+)>/).map { landing.target(of: "\($0.1).md") }
        #expect(listed.sorted() == articles.map(\.place).sorted())
    }
}

extension Document {
    /// Where it lies on this machine.
    fileprivate var place: String { URL(fileURLWithPath: Repository.path(path)).standardizedFileURL.path }

    /// What its links to files name, from its own folder.
    fileprivate var links: [String] {
        lines.filter { $0.language == nil }.flatMap { line in
            line.text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.filter { !$0.contains("://") }
        }
    }

    /// Its headings as GitHub spells them in links.
    fileprivate var anchors: Set<String> {
        let headings = lines.filter { $0.language == nil && $0.text.hasPrefix("#") }
        return Set(
            headings.map { heading in
                let title = heading.text.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
                let kept = title.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
                return kept.replacingOccurrences(of: " ", with: "-")
            }
        )
    }

    /// Where a path leads that counts from its folder.
    fileprivate func target(of relative: String) -> String {
        let folder = URL(fileURLWithPath: Repository.path(path)).deletingLastPathComponent()
        return folder.appendingPathComponent(relative).standardizedFileURL.path
    }
}
