#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ends with status 0 once this machine's cloud gives notice that it takes the machine away: a spot or
# preemptible machine of AWS (two minutes before), Google or Azure (half a minute before). Ends with 1
# when its standard input does: start.sh runs it on every machine and holds the other end.
#   https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
#   https://cloud.google.com/compute/docs/instances/create-use-spot
#   https://learn.microsoft.com/en-us/azure/virtual-machines/linux/scheduled-events
metadata=http://169.254.169.254
get() { curl -sf --noproxy '*' --connect-timeout 1 --max-time 2 "$@"; }

aws() {
  local token
  token=$(get -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $metadata/latest/api/token) &&
    get -o /dev/null -H "X-aws-ec2-metadata-token: $token" $metadata/latest/meta-data/spot/instance-action
}
google() {
  [[ $(get -H 'Metadata-Flavor: Google' $metadata/computeMetadata/v1/instance/preempted) == TRUE ]]
}
azure() {
  get -H 'Metadata: true' "$metadata/metadata/scheduledevents?api-version=2020-07-01" |
    grep -Eq '"EventType": *"Preempt"'
}

if ! command -v curl >/dev/null; then
  echo "curl is missing on $(hostname) (notices of preemption are not seen there). Install it." >&2
  exit 1
fi
until aws || google || azure; do
  read -rt 5 || (($? > 128)) || exit 1
done
