import Foundation
import TestSupport
import Testing

@Suite("The pages of the documentation")
struct DocumentLinkTests {
    @Test("link only to files and headings that exist")
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

    /// zsh, the default shell of macOS, does not treat `#` at its prompt as the start of a comment.
    @Test("have no comments in commands to paste into a shell")
    func remarks() throws {
        let pasted = try Document.all().flatMap(\.lines).filter { $0.language == "sh" }
        #expect(pasted.count > 20)
        for line in pasted { #expect(!" \(line.text)".contains(" #"), "\(line.text)") }
    }

    @Test("can be found: the README and the landing page of the catalog link to every article")
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
    /// The absolute path of the file.
    fileprivate var place: String { URL(fileURLWithPath: Repository.path(path)).standardizedFileURL.path }

    /// The targets of its links to files, relative to its folder.
    fileprivate var links: [String] {
        lines.filter { $0.language == nil }.flatMap { line in
            line.text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.filter { !$0.contains("://") }
        }
    }

    /// The anchors that GitHub derives from its headings.
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

    /// Resolves a path relative to the folder of the document.
    fileprivate func target(of relative: String) -> String {
        let folder = URL(fileURLWithPath: Repository.path(path)).deletingLastPathComponent()
        return folder.appendingPathComponent(relative).standardizedFileURL.path
    }
}
