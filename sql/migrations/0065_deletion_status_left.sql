-- accountctl: bundle=core
-- An erasure that was searched for by the user id alone may have left it in columns that were accepted: `proof` says both.

create or replace function accountctl.deletion_status_document(request_id uuid)
returns jsonb
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object(
        'request_id', request.id,
        'state', request.state,
        'steps_done', coalesce(
            (
                select jsonb_agg(steps.step order by steps.finished_at, steps.step)
                from accountctl.deletion_steps as steps
                where steps.request_id = request.id
                  and steps.finished_at is not null
            ),
            '[]'
        ),
        'requested_at', request.requested_at,
        'runs_after', request.run_after,
        'done_by', request.legal_deadline,
        'finished_at', request.finished_at,
        'can_cancel', request.finished_at is null and request.locked_out_at is null,
        'apple', case
            when request.apple_outcome = 'grant_unknown' then 'not_revoked'
            when request.apple_outcome is not null then request.apple_outcome
            when request.state = 'cancelled' then 'not_revoked'
            when request.finished_at is not null then 'not_held'
            when known.account and not (known.identity or known.credential or known.code or known.lost) then 'not_held'
            else 'pending'
        end,
        'proof', case
            when request.state = 'verified' then (
                select case searches.outcome
                    when 'ok' then 'searched'
                    when 'not_verifiable' then case
                        when searches.facts ? 'accepted' then 'user_id_only_accepted'
                        else 'user_id_only'
                    end
                    when 'accepted' then 'accepted'
                end
                from accountctl.deletion_steps as searches
                where searches.request_id = request.id
                  and searches.step in ('verify', 'settle')
                order by searches.finished_at desc, searches.step
                limit 1
            )
        end,
        'wants_apple_code', request.finished_at is null
            and request.locked_out_at is null
            and known.identity
            and not known.credential
            and not exists (
                select
                from accountctl.authorization_codes as codes
                where codes.user_id = request.user_id
                  and codes.code is not null
                  and codes.expires_at > now()
            ),
        'worker_seen', exists (
            select
            from accountctl.workers
            where workers.beat_at > now() - interval '5 minutes'
        )
    )
    from accountctl.deletion_requests as request
    cross join lateral (
        select
            exists (select from auth.users where users.id = request.user_id) as account,
            exists (
                select
                from auth.identities
                where identities.user_id = request.user_id
                  and identities.provider = 'apple'
            ) as identity,
            exists (
                select
                from accountctl.apple_credentials as credentials
                where credentials.user_id = request.user_id
            ) as credential,
            -- On its way to Apple, or the answer was lost.
            exists (
                select
                from accountctl.authorization_codes as codes
                where codes.user_id = request.user_id
                  and codes.state in ('received', 'exchanging', 'grant_unknown')
            ) as code,
            exists (select from accountctl.lost_grants as lost where lost.user_id = request.user_id) as lost
    ) as known
    where request.id = deletion_status_document.request_id
$$;
