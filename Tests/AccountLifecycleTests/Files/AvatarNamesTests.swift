import AccountLifecycle
import Testing

@Suite("Which object keys a text names")
struct AvatarNamesTests {
    @Test(
        "An object is named by its key, or by a URL that ends with the key, plain or escaped, whatever follows",
        arguments: [
            "u/a b.png", "avatars/u/a b.png", "https://x.test/storage/v1/object/public/avatars/u/a b.png",
            "https://x.test/storage/v1/object/sign/avatars/u/a%20b.png?token=e.y.J", "https://cdn.test/u/a%20b.png#1",
            "https://x.test/render/image/public/avatars/u/a b.png?width=1&height=2",
            "https://x.test/avatar?path=u/a%20b.png", "https://x.test/avatar?size=2&path=u%2Fa+b.png&t=1#top",
            "https://x.test/image?url=https%3A%2F%2Fx.test%2Favatars%2Fu%2Fa%2520b.png&w=640", "avatar:u/a b.png",
            "https://x.test/avatars//u//a%20b.png", "https://x.test/avatars/./u/v/../a%20b.png#", "u/a b.png \n",
            #"https:\\x.test\avatars\u\a b.png"#, "https://x.test/avatars/u/%2E/a+b.png?t=1", "avatars/u/.//./a b.png",
        ]
    )
    func named(_ url: String) {
        let names = AvatarNames(["v/other.png", url, "https://x.test/avatars/w/another.png?t=1"])
        #expect(names.contains("u/a b.png"))
        #expect(!names.contains("v/a b.png"))
        #expect(!names.contains("u/a b.png2"))
        #expect(!names.contains("u/a"))
        #expect(names.contains("a b.png"), "what ends a URL is kept, even without its folder")
        #expect(names.contains("v/other.png") && names.contains("w/another.png"))
    }

    @Test(
        "A key may contain the bucket's name",
        arguments: [
            "u/avatars/a.png", "https://cdn.test/u/avatars/a.png", "https://x.test/avatars/u/avatars/a.png?t=1",
            "https://x.test/avatar?path=u/avatars/a.png",
        ]
    )
    func bucket(_ url: String) {
        #expect(AvatarNames([url]).contains("u/avatars/a.png"))
    }

    @Test("A key may contain characters that are special in a URL, and differs from its other Unicode spellings")
    func odd() {
        #expect(AvatarNames(["u/a?b#c%41.png"]).contains("u/a?b#c%41.png"))
        #expect(AvatarNames(["https://x.test/avatars/u/a%3Fb.png?t=1"]).contains("u/a?b.png"))
        #expect(AvatarNames(["https://x.test/avatars/100%.png"]).contains("100%.png"))
        // No escape, since a sign is no digit.
        #expect(AvatarNames(["https://x.test/avatars/a%20b%+1.png"]).contains("a b%+1.png"))
        #expect(AvatarNames(["e\u{301}.png"]).contains("e\u{301}.png"))
        #expect(!AvatarNames(["e\u{301}.png"]).contains("\u{e9}.png"))
        #expect(!AvatarNames([]).contains("") && !AvatarNames([""]).contains("a"))
    }

    @Test("A key is not named by a text that merely happens to end with it")
    func chance() {
        #expect(!AvatarNames(["https://x.test/avatars/17.jpg?t=1"]).contains("7.jpg"))
        #expect(!AvatarNames(["https://avatars.githubusercontent.com/u/12345"]).contains("45"))
        let others = ["17.jpg", "x97.jpg", "A7.jpg", "xZ7.jpg", "a7.jpg", "xz7.jpg", "8.jpg"]
        #expect(!AvatarNames(others).contains("7.jpg"))
        for before in ["", "/", "x=", "x:", "x@", #"x\"#, "x[", "x_", "x`", "x{", "x~", "x-", "\u{e9}", " ", "%2f"] {
            #expect(AvatarNames(others + [before + "7.jpg"]).contains("7.jpg"), "\(before)")
        }
    }

    @Test("A key may begin after an escaped character, however often that was escaped", arguments: ["", "25", "2525"])
    func escaped(_ again: String) {
        #expect(AvatarNames(["https://x.test/image?url=x%\(again)2Fb.png&w=1"]).contains("b.png"))
        #expect(AvatarNames(["https://x.test/avatar?path=x%\(again)2Fa+b.png"]).contains("a b.png"))
    }

    @Test("Dot segments are resolved within the path, and those in the text after it are ignored")
    func dots() {
        #expect(AvatarNames(["https://x.test/avatars//u//a.png?next=/../b"]).contains("u/a.png"))
        #expect(AvatarNames(["https://x.test/avatars/w/r&d/../u//a.png#/../b"]).contains("w/u/a.png"))
        #expect(AvatarNames(["https://x.test/?next=a//b&path=v//u/../a.png#/../b"]).contains("v/a.png"))
    }

    @Test("Every ending of many texts is found, and nothing else")
    func many() {
        let texts = (0..<500).map { "https://x.test/\($0 % 7)/avatars/\($0)/\($0 * $0).png?t=\($0)" }
        let names = AvatarNames(texts)
        let paths = texts.map { $0.prefix { $0 != "?" } }
        let named = Set(
            paths.flatMap { path in
                path.indices
                    .filter { $0 == path.startIndex || !(path[path.index(before: $0)].isLetterOrDigit) }
                    .map { path[$0...] }
            }
        )
        for path in paths {
            for end in path.indices.map({ path[$0...] }) {
                #expect(names.contains(String(end)) == named.contains(end), "\(end)")
            }
            #expect(!names.contains("/" + path) && !names.contains("y" + path.dropFirst()))
        }
        #expect(!names.contains("500/250000.png"))
    }

    @Test("A key of the greatest length is found, and a longer one, which cannot exist, is not reported as unused")
    func long() {
        let key = String(repeating: "k", count: 1020) + ".png"
        let names = AvatarNames(["a", "https://x.test/avatars/\(key)?t=1"])
        #expect(names.contains(key) && !names.contains("l" + key.dropFirst()))
        #expect(names.contains("l" + key))
        #expect(!AvatarNames(["1" + key]).contains(key))
        #expect(AvatarNames(["1" + key, "/" + key, "a" + key]).contains(key))
    }

    @Test("The cost of a long text is linear in its length", .timeLimit(.minutes(5)))
    func costs() {
        let fillings = ["/", "?", "%41", "%", "%25", "/../", "?//", "+"].map { String(repeating: $0, count: 1 << 16) }
        // The last text is escaped many times over.
        for text in fillings + ["%" + String(repeating: "25", count: 1 << 15)] {
            let names = AvatarNames([text, "u/a.png"])
            #expect(names.contains("u/a.png") && !names.contains("u/b.png"))
        }
    }
}

extension Character {
    fileprivate var isLetterOrDigit: Bool { isASCII && (isLetter || isNumber) }
}
