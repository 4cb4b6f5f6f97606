import Foundation
import TestSupport
import Testing

@testable import LibPQ

struct LoaderTests {
    /// Debug builds are linked with libpq, but the release build of the program is not: without this test only the
    /// release build would reveal a missing function.
    @Test("The loader passes on every function of libpq that Swift calls, and no other")
    func everyFunction() throws {
        var called: Set<String> = []
        let folder = Repository.path("Sources/LibPQ")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            called.formUnion(text.matches(of: /\bPQ[a-z]\w+/).map { String($0.0) })
        }
        // Not a function but a type.
        called.remove("PQconninfoOption")
        let loader = try String(contentsOfFile: Repository.path("Sources/CLibpqLoader/CLibpqLoader.c"), encoding: .utf8)
        let listed = loader.matches(of: #/F\([^,]+, (PQ\w+),/#).map { String($0.1) }
        #expect(!called.isEmpty)
        #expect(Set(listed) == called)
    }

    @Test func theLibraryIsThere() {
        #expect(Library.load() == nil)
    }
}
