import Testing

@Suite("Wrong input to the relay commands", .timeLimit(.minutes(5)))
struct RelayInputTests {
    @Test(
        "Wrong input is refused with a message that names what is wrong",
        arguments: [
            (["check", "https://shop.test/path"], "is a URL, expected a domain: shop.test"),
            (["check", "news@shop.test"], "is an e-mail address, expected a domain: shop.test"),
            (["check", "192.0.2.1."], "is an IP address"),
            (["check", "[2001:db8::1]"], "is an IP address"),
            (["check", "bücher.test"], "xn--"),
            (["check", String(repeating: "a", count: 64) + ".test"], "63"),
            (["check", "a..test"], "a..test"),
            (["check", "sh\u{1B}[31mop.test"], "which such a name cannot contain"),
            (["check", "shop.test", "--selector", "s1._domainkey.other.test"], "is not a selector of this domain"),
            (["check", "shop.test", "--selector", "s1=x"], "--selector: "),
            (["check", "shop.test", "--selector", "s1=p="], "--selector: “” is not a DKIM key"),
            (["check", "shop.test", "--envelope", "localhost"], "--envelope: "),
            (["check", "shop.test", "--signing", ""], "--signing: "),
            (["check", "shop.test", "--include", "a@b.test"], "--include: "),
            (["check", "shop.test", "--return-path-target", "x"], "--return-path-target: "),
            (["check", "shop.test", "--registered", "x"], "--registered: "),
            (["check", "shop.test", "--address", "192.0.2.0/33"], "is not an address or a range"),
            (["check", "shop.test", "--signature", "v=1; a=rsa-sha256"], "no d= and s="),
            (["check", "shop.test", "--resolver", "ns.shop.test"], "--resolver"),
            (["spf", "--ip", "192.0.2", "--from", "a@b.test", "--helo", "h.test"], "\"192.0.2\" is not an IP address"),
            (["spf", "--ip", "192.0.2.1"], "--from"),
            (["spf", "--ip", "192.0.2.1", "--from", "a@bücher.test", "--helo", "h.test"], "--from: write the domain"),
            (["spf", "--ip", "192.0.2.1", "--from", "ä@b.test", "--helo", "bücher.test"], "--helo: write the domain"),
            (["can-send", "--stream", "news", "--user", " "], "is not something to look for"),
            (["stream", "add", "a.b", "shop.test"], "1 to 63 characters"),
            (["stream", "add", "news", "shop.test", "--registered", "shop.test", "--by", " "], "--by is empty"),
        ]
    )
    func badInput(_ arguments: [String], _ message: String) async throws {
        let result = try await AccountctlProcess(["relay"] + arguments).result()
        #expect(result.status == 2, "\(result.output) \(result.errors)")
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(!result.errors.contains("\u{1B}"))
    }

    @Test("More than a stream can hold is refused by the name of the option")
    func tooMuch() async throws {
        let includes = (1...21).map { "--include=s\($0).shop.test" }
        let addresses = (0...200).map { "--address=192.0.2.\($0)" }
        let selectors = (1...21).map { "--selector=s\($0)" }
        let signed: [String] = ["--signature", "d=shop.test; s=s21"] + selectors.prefix(20)
        let cases: [(words: [String], message: String)] = [
            (includes, "--include may be given 20 times at most"),
            (addresses, "--address may be given 200 times at most"),
            (selectors, "--selector may be given 20 times at most"),
            // The signature names one, too.
            (signed, "--selector may be given 19 times at most"),
            (["--provider", String(repeating: "x", count: 101)], "--provider has 101 characters"),
        ]
        for (words, message) in cases {
            let result = try await AccountctlProcess(["relay", "stream", "add", "news", "shop.test"] + words).result()
            #expect(result.status == 2 && result.output.isEmpty, "\(result)")
            #expect(result.errors.contains(message), "\(result)")
        }
    }
}
