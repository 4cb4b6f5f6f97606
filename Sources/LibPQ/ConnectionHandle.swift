import CLibpq
import CLibpqLoader

/// One libpq connection, closed with the last reference; used by one thread at a time and therefore not Sendable.
///
/// A thin layer: each member is one call of the library, named after its effect. Waiting, deadlines and the order of
/// calls belong to the layer above.
@safe
package final class ConnectionHandle {
    private let handle: OpaquePointer
    private let notices: Unmanaged<NoticeReceiver>

    /// Starts connecting; continue with ``pollConnecting()``.
    ///
    /// Name resolution happens here and blocks.
    ///
    /// - Parameters:
    ///   - parameters: Keywords and values; later ones win; `dbname` may hold a whole connection string.
    ///   - onNotice: Receives the server's notices on the thread that uses the connection.
    /// - Throws: ``OutOfMemory``; for every other problem, ``isBroken`` is true and the error message describes it.
    package init(
        parameters: ConnectionKeywords,
        onNotice: @escaping @Sendable ([ErrorField: String]) -> Void
    ) throws(OutOfMemory) {
        let started = unsafe withCStrings(parameters.map(\.keyword)) { keywords in
            unsafe withCStrings(parameters.map(\.value)) { values in
                unsafe PQconnectStartParams(keywords, values, 1)
            }
        }
        guard let started = unsafe started else { throw OutOfMemory() }
        unsafe handle = started
        unsafe notices = Unmanaged.passRetained(NoticeReceiver(onNotice))
        // Always installed: libpq's default prints to standard error.
        _ = unsafe PQsetNoticeReceiver(started, receiveNotice, notices.toOpaque())
        // Includes the SQLSTATE of a refused connection, which has no result to ask, in its message.
        _ = unsafe PQsetErrorVerbosity(started, PQERRORS_VERBOSE)
    }

    deinit {
        // In this order, because finishing may still call the receiver.
        unsafe PQfinish(handle)
        unsafe notices.release()
    }

    // MARK: Connecting and state

    /// Continues connecting, and returns what to wait for.
    package func pollConnecting() -> ConnectingStep {
        switch unsafe PQconnectPoll(handle) {
        case PGRES_POLLING_READING: .waitForReading
        case PGRES_POLLING_WRITING: .waitForWriting
        case PGRES_POLLING_OK: .connected
        default: .failed
        }
    }

    /// The socket; may change while connecting, and is negative if there is none.
    package var socket: Int32 { unsafe PQsocket(handle) }

    /// Whether the connection is lost or was never made.
    package var isBroken: Bool { unsafe PQstatus(handle) == CONNECTION_BAD }

    /// The transaction status, as the server last reported it.
    package var transactionStatus: TransactionStatus {
        switch unsafe PQtransactionStatus(handle) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_ACTIVE: .active
        case PQTRANS_INTRANS: .inTransaction
        case PQTRANS_INERROR: .inFailedTransaction
        default: .unknown
        }
    }

    /// The library's last message about this connection; may name hosts and users, never the password.
    package var errorMessage: String { unsafe String(cString: PQerrorMessage(handle)).trimmedEnd() }

    /// The SQLSTATE in ``errorMessage`` of a connection that the server refused.
    package var refusalSQLState: String? {
        for line in errorMessage.split(separator: "\n") {
            let words = line.split(separator: ":", omittingEmptySubsequences: false)
            for word in words.dropFirst() {
                let code = word.drop { $0 == " " }
                guard code.utf8.count == 5, word.utf8.count == 7 else { continue }
                if code.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) }) { return String(code) }
            }
        }
        return nil
    }

    /// Whether connecting failed because the server asks for a password and there was none.
    package var needsPassword: Bool { unsafe PQconnectionNeedsPassword(handle) == 1 }

    /// The server's version as a number, such as 150018; zero if unknown.
    package var serverVersion: Int { Int(unsafe PQserverVersion(handle)) }

    /// The process id of the server process; poolers make up their own.
    package var backendPID: Int32 { unsafe PQbackendPID(handle) }

    /// A setting the server reports, such as `server_version` or `TimeZone`.
    package func parameterStatus(_ name: String) -> String? {
        unsafe PQparameterStatus(handle, name).map { unsafe String(cString: $0) }
    }

    /// The parameters in force, including defaults, environment and service file, without the password.
    package func parametersInForce() -> [String: String] {
        guard let options = unsafe PQconninfo(handle) else { return [:] }
        defer { unsafe PQconninfoFree(options) }
        return unsafe ConninfoOption.list(options).reduce(into: [:]) { found, option in
            if !option.isSecret, let value = option.value { found[option.keyword] = value }
        }
    }

    /// The connected host or socket directory.
    package var host: String { unsafe PQhost(handle).map { unsafe String(cString: $0) } ?? "" }

    /// The address connected or being tried, in numeric form; empty for a socket directory.
    package var address: String { unsafe PQhostaddr(handle).map { unsafe String(cString: $0) } ?? "" }

    /// The connected port, as text.
    package var port: String { unsafe PQport(handle).map { unsafe String(cString: $0) } ?? "" }

    /// Whether TLS protects the connection.
    package var usesTLS: Bool { unsafe PQsslInUse(handle) == 1 }

    /// Whether the server's certificate was verified, which libpq does in every mode if it finds a root certificate.
    package var verifiesServer: Bool {
        guard unsafe PQsslInUse(handle) == 1 else { return false }
        return unsafe clibpqloader_verifies(PQsslStruct(handle, "OpenSSL")) != 0
    }

    /// A fact about TLS in use, such as `protocol` or `cipher`.
    package func tlsAttribute(_ name: String) -> String? {
        unsafe PQsslAttribute(handle, name).map { unsafe String(cString: $0) }
    }

    /// Makes sending non-blocking.
    package func setNonBlocking() -> Bool { unsafe PQsetnonblocking(handle, 1) == 0 }

    /// A handle for cancelling the running statement from any thread; nil if there is no connection.
    package func cancelHandle() -> CancelHandle? {
        unsafe PQgetCancel(handle).map { unsafe CancelHandle($0) }
    }

    // MARK: Sending

    /// Sends SQL with the simple protocol: several statements, no parameters.
    package func sendQuery(_ sql: String) -> Bool { unsafe PQsendQuery(handle, sql) == 1 }

    /// Sends one statement with its parameters.
    package func sendQuery(_ sql: String, _ parameters: borrowing Parameters, binaryResult: Bool) -> Bool {
        unsafe parameters.withPointers { count, types, values, lengths, formats in
            unsafe PQsendQueryParams(handle, sql, count, types, values, lengths, formats, binaryResult ? 1 : 0) == 1
        }
    }

    /// Sends the preparation of a statement; the empty name is the unnamed one.
    package func sendPrepare(name: String, _ sql: String, types: [UInt32]) -> Bool {
        unsafe PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1
    }

    /// Sends the execution of a prepared statement.
    package func sendPrepared(name: String, _ parameters: borrowing Parameters, binaryResult: Bool) -> Bool {
        unsafe parameters.withPointers { count, _, values, lengths, formats in
            unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, binaryResult ? 1 : 0) == 1
        }
    }

    /// Requests the running query's rows as one result each; must be called right after sending.
    package func setSingleRowMode() -> Bool { unsafe PQsetSingleRowMode(handle) == 1 }

    /// Sends queued data: true if all is sent, false if the socket is full, nil if the connection failed.
    package func flush() -> Bool? {
        switch unsafe PQflush(handle) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    // MARK: Receiving

    /// Reads what has arrived; false if the connection failed.
    package func consumeInput() -> Bool { unsafe PQconsumeInput(handle) == 1 }

    /// Whether TLS holds bytes that have arrived, which the socket does not show; ``consumeInput()`` reads them.
    ///
    /// A TLS record holds up to 16 kB, and libpq reads as much of it as its buffer has room for.
    package var holdsInput: Bool {
        guard unsafe PQsslInUse(handle) == 1 else { return false }
        return unsafe clibpqloader_pending(PQsslStruct(handle, "OpenSSL")) > 0
    }

    /// Whether ``nextResult()`` would block.
    package var isBusy: Bool { unsafe PQisBusy(handle) == 1 }

    /// The next result; nil if there are no more.
    package func nextResult() -> QueryResult? {
        unsafe PQgetResult(handle).map { unsafe QueryResult($0) }
    }

    /// The next notification that has arrived.
    package func nextNotification() -> RawNotification? {
        guard let raw = unsafe PQnotifies(handle) else { return nil }
        defer { unsafe PQfreemem(raw) }
        return unsafe RawNotification(
            channel: String(cString: raw.pointee.relname),
            payload: String(cString: raw.pointee.extra)
        )
    }

    // MARK: COPY, which a statement may turn out to be

    /// Makes the server abort COPY IN for a reason: true if queued, false if the socket is full, nil on failure.
    package func endCopy(failing reason: String) -> Bool? {
        switch unsafe PQputCopyEnd(handle, reason) {
        case 1: true
        case 0: false
        default: nil
        }
    }

    /// Discards the next COPY OUT message if one has arrived.
    package func discardCopyData() -> CopyOutStep {
        var buffer: UnsafeMutablePointer<CChar>?
        let count = unsafe PQgetCopyData(handle, &buffer, 1)
        guard let buffer = unsafe buffer else { return count == 0 ? .wait : count == -1 ? .end : .failed }
        unsafe PQfreemem(buffer)
        return .data
    }
}

/// The library had no memory for a connection.
package struct OutOfMemory: Error {}
