import AccountLifecycle
import Testing

@Suite("Which avatars are named")
struct AvatarNamesTests {
    @Test(
        "By its key, by a URL that ends with it, by one with escapes, whatever follows",
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
        "A key may hold the bucket's name",
        arguments: [
            "u/avatars/a.png", "https://cdn.test/u/avatars/a.png", "https://x.test/avatars/u/avatars/a.png?t=1",
            "https://x.test/avatar?path=u/avatars/a.png",
        ]
    )
    func bucket(_ url: String) {
        #expect(AvatarNames([url]).contains("u/avatars/a.png"))
    }

    @Test("A key may hold what means something in a URL, and is no other spelling of itself")
    func odd() {
        #expect(AvatarNames(["u/a?b#c%41.png"]).contains("u/a?b#c%41.png"))
        #expect(AvatarNames(["https://x.test/avatars/u/a%3Fb.png?t=1"]).contains("u/a?b.png"))
        #expect(AvatarNames(["https://x.test/avatars/100%.png"]).contains("100%.png"))
        #expect(AvatarNames(["e\u{301}.png"]).contains("e\u{301}.png"))
        #expect(!AvatarNames(["e\u{301}.png"]).contains("\u{e9}.png"))
        #expect(!AvatarNames([]).contains("") && !AvatarNames([""]).contains("a"))
    }

    @Test("Each end of many texts is found, and nothing that is none of them")
    func many() {
        let texts = (0..<500).map { "https://x.test/\($0 % 7)/avatars/\($0)/\($0 * $0).png?t=\($0)" }
        let names = AvatarNames(texts)
        for text in texts {
            let path = text.prefix { $0 != "?" }
            for count in 1...path.count { #expect(names.contains(String(path.suffix(count)))) }
            #expect(!names.contains("/" + path) && !names.contains("y" + path.dropFirst()))
        }
        #expect(!names.contains("500/250000.png"))
    }

    @Test("A key as long as keys can be is found, and one that cannot be is not called unused")
    func long() {
        let key = String(repeating: "k", count: 1020) + ".png"
        let names = AvatarNames(["a", "https://x.test/avatars/\(key)?t=1"])
        #expect(names.contains(key) && !names.contains("l" + key.dropFirst()))
        #expect(names.contains("l" + key))
    }

    @Test("A long text of one person costs no more than its length", .timeLimit(.minutes(1)))
    func costs() {
        for filling in ["/", "?", "%41", "%"] {
            let names = AvatarNames([String(repeating: filling, count: 1 << 16), "u/a.png"])
            #expect(names.contains("u/a.png") && !names.contains("u/b.png"))
        }
    }
}
