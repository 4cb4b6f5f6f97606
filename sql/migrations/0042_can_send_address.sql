-- accountctl: bundle=core
-- Whether mail may be sent is asked of the address that is mailed: an account that was made with a relay address and has another one
-- since is not silenced by what is known of the first.

create or replace function accountctl.can_send(
    stream text,
    user_id uuid,
    out answer text,
    out reason text
)
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
    account record;
    sender accountctl.mail_streams;
    relay accountctl.relay_accounts;
begin
    select u.id, u.email, u.deleted_at
    into account
    from auth.users as u
    where u.id = can_send.user_id;
    if account.id is null or account.deleted_at is not null then
        answer := 'no';
        reason := 'there is no such account';
        return;
    end if;
    select s.*
    into sender
    from accountctl.mail_streams as s
    where s.name = can_send.stream;
    if sender.id is null then
        answer := 'unknown';
        reason := 'there is no such stream';
        return;
    end if;
    select r.*
    into relay
    from accountctl.relay_accounts as r
    where r.user_id = account.id;
    -- What is known of the relay is about its address, and mail goes to the account's, which may have been changed since.
    if nullif(lower(account.email), '') <> relay.address then
        if accountctl.is_relay_address(account.email) then
            relay.forwarding := 'unknown';
        else
            relay := null;
        end if;
    end if;
    if relay.user_id is null then
        answer := case when account.email is null then 'no' else 'yes' end;
        reason := case when account.email is null then 'the account has no address' else 'not a relay address' end;
        return;
    end if;
    if relay.forwarding = 'off' then
        answer := 'no';
        reason := 'the person has switched forwarding off';
        return;
    end if;
    case
        when sender.reachable is null then
            answer := 'unknown';
            reason := 'the stream has not been checked twice yet';
        when sender.reachable = 'no' then
            answer := 'no';
            reason := format('the relay does not take mail of this stream: SPF %s, DKIM %s', sender.spf, sender.dkim);
        when sender.reachable = 'unknown' then
            answer := 'unknown';
            reason := 'it could not be told whether the relay takes mail of this stream';
        when sender.confirmed_at < now() - interval '7 days' then
            answer := 'unknown';
            reason := 'the last check that could tell is older than a week';
        else
            answer := 'yes';
            reason := format('the relay takes mail of this stream: SPF %s, DKIM %s', sender.spf, sender.dkim);
    end case;
end
$$;
