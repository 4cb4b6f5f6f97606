#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// This machine's clock.
enum Clock {
    static var secondsSince1970: Double { Date().timeIntervalSince1970 }
}
