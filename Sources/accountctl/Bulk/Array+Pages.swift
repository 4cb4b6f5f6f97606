#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension [UUID] {
    /// Pieces of as many ids as one statement looks at.
    var pages: [ArraySlice<UUID>] {
        stride(from: 0, to: count, by: 5000).map { self[$0...].prefix(5000) }
    }
}
