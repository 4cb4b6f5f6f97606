#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension [UUID] {
    /// Slices of at most 5000 ids, each small enough for one statement.
    var pages: [ArraySlice<UUID>] {
        stride(from: 0, to: count, by: 5000).map { self[$0...].prefix(5000) }
    }
}
