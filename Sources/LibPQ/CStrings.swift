#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Passes a nil-terminated list of C strings to `body`, valid only during the call.
func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    var pointers: [UnsafePointer<CChar>?] = unsafe strings.map { string in
        unsafe strdup(string).map { unsafe UnsafePointer($0) }
    }
    unsafe pointers.append(nil)
    defer {
        unsafe pointers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) }
    }
    return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
}
