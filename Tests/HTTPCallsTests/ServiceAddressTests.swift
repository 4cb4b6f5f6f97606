import HTTPCalls
import Testing

@Suite struct ServiceAddressTests {
    @Test func readsTheParts() throws {
        let address = try ServiceAddress("https://Project.Supabase.co:8443/storage/v1/")
        #expect(address.host == "project.supabase.co")
        #expect(address.port == 8443)
        #expect(address.pathPrefix == "/storage/v1")
        #expect(address.url(path: "/bucket") == "https://project.supabase.co:8443/storage/v1/bucket")
    }

    @Test(arguments: ["http://localhost:54321", "http://127.0.0.1", "http://127.9.9.9:1", "http://[::1]:80"])
    func plainHTTPToLoopback(text: String) throws {
        #expect(try ServiceAddress(text).isLoopback)
    }

    @Test(arguments: ["http://example.com", "http://127.0.0.1.example.com", "http://10.0.0.1", "http://localhost.evil"])
    func plainHTTPElsewhereNeedsALeave(text: String) throws {
        #expect(throws: ServiceAddress.Problem.plainHTTP) { try ServiceAddress(text) }
        #expect(try ServiceAddress(text, allowPlainHTTP: true).scheme == "http")
    }

    @Test(arguments: [
        ("example.com", ServiceAddress.Problem.notAnAddress), ("https://", .notAnAddress),
        ("https://a b", .notAnAddress), ("https://a?x=1", .notAnAddress), ("https://a#x", .notAnAddress),
        ("ftp://a", .unknownScheme), ("https://u:p@a", .userInformation), ("https://a:0", .badPort),
        ("https://a:99999", .badPort), ("https://a:", .badPort), ("https://[::1", .notAnAddress),
    ])
    func refuses(text: String, problem: ServiceAddress.Problem) {
        #expect(throws: problem) { try ServiceAddress(text) }
    }
}

@Suite struct PercentEncodingTests {
    @Test func pathsKeepSlashesAndEncodeTheRest() {
        #expect(PercentEncoding.path("a b/ü?#%/c+d") == "a%20b/%C3%BC%3F%23%25/c%2Bd")
        #expect(PercentEncoding.path("a/\u{301}b") == "a/%CC%81b")
        #expect(PercentEncoding.path(".../.a/c..d/..") == nil)
        #expect(PercentEncoding.path(".../.a/c..d/..e") == ".../.a/c..d/..e")
        #expect(PercentEncoding.segment("a/b") == "a%2Fb")
    }

    /// Escaping does not help: a gateway reads `%2E` as a dot.
    @Test(arguments: ["", ".", ".."])
    func whatGatewaysTakeAwayIsNotSent(segment: String) {
        #expect(PercentEncoding.segment(segment) == nil)
        for path in [segment, "\(segment)/a", "a/\(segment)", "a/\(segment)/b", "\(segment)/\u{301}x"] {
            #expect(PercentEncoding.path(path) == nil, "\(path)")
        }
    }

    @Test func formsEncodeEverythingReserved() {
        let body = PercentEncoding.form([("code", "c&d=e+f"), ("x", "ä")])
        #expect(String(decoding: body, as: UTF8.self) == "code=c%26d%3De%2Bf&x=%C3%A4")
    }
}
