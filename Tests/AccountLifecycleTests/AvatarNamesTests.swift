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
        ]
    )
    func named(_ url: String) {
        #expect(AvatarNames([url]).contains("u/a b.png"))
        #expect(!AvatarNames([url]).contains("v/a b.png"))
        #expect(!AvatarNames([url]).contains("u/a b.png2"))
        #expect(!AvatarNames([url]).contains("b.png"))
        #expect(AvatarNames([url]).contains("a b.png"), "what ends a URL is kept, even without its folder")
    }

    @Test("A key may hold what means something in a URL, and is no other spelling of itself")
    func odd() {
        #expect(AvatarNames(["u/a?b#c%41.png"]).contains("u/a?b#c%41.png"))
        #expect(AvatarNames(["https://x.test/avatars/100%.png"]).contains("100%.png"))
        #expect(AvatarNames(["e\u{301}.png"]).contains("e\u{301}.png"))
        #expect(!AvatarNames(["e\u{301}.png"]).contains("\u{e9}.png"))
        #expect(AvatarNames(["https://x.test/avatars/u/avatars/a.png"]).contains("u/avatars/a.png"))
        #expect(!AvatarNames([]).contains(""))
    }
}
