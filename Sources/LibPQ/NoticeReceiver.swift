import CLibpq

/// Holds the closure that libpq's C callback cannot carry.
final class NoticeReceiver: Sendable {
    let receive: @Sendable ([ErrorField: String]) -> Void

    init(_ receive: @escaping @Sendable ([ErrorField: String]) -> Void) {
        self.receive = receive
    }
}

/// libpq's callback: file-level, since a closure made in a main-actor context would trap on the connection's thread.
func receiveNotice(_ context: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
    guard let context = unsafe context, let result = unsafe result else { return }
    unsafe Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue().receive(ErrorField.all(of: result))
}
