#if canImport(Glibc)
    // `@preconcurrency` for `environ`, which no code here writes.
    @preconcurrency import Glibc
#else
    import Darwin
#endif

/// The environment variables of the process.
enum ProcessVariables {
    /// All variables, read without Foundation, which is fifty times as slow because it searches for the equals sign by
    /// `Character`.
    static func all() -> [String: String] {
        #if canImport(Darwin)
            let entries: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = _NSGetEnviron().pointee
        #else
            let entries: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        #endif
        var variables: [String: String] = [:]
        guard var entry = entries else { return variables }
        while let text = entry.pointee {
            entry += 1
            guard let equals = strchr(text, Int32(UInt8(ascii: "="))) else { continue }
            let name = UnsafeRawBufferPointer(start: text, count: equals - text)
            variables[String(decoding: name, as: UTF8.self)] = String(cString: equals + 1)
        }
        return variables
    }
}
