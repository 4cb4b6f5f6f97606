import ArgumentParser

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account's id on the command line, for commands that take no other term.
struct UserIDArgument: ExpressibleByArgument {
    let id: UUID

    init?(argument: String) {
        guard let id = UUID(uuidString: argument) else { return nil }
        self.id = id
    }
}
