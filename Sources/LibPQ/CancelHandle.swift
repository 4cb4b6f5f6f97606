import CLibpq

/// A handle for cancelling the running statement of one connection.
///
/// Safe to pass to another thread: libpq's documentation says that a PGcancel may be used from one; it is never changed
/// after its creation, and freed exactly once.
@safe
package final class CancelHandle: @unchecked Sendable {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    deinit {
        unsafe PQfreeCancel(handle)
    }

    /// Asks the server to cancel.
    ///
    /// Opens a separate connection and blocks until the server has received the request.
    ///
    /// - Returns: nil if the request was delivered, otherwise why not.
    package func send() -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        if unsafe PQcancel(handle, &buffer, Int32(buffer.count)) == 1 { return nil }
        let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: text, as: UTF8.self).trimmedEnd()
    }
}
